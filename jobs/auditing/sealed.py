"""What is sealed of one monitor in a chunk of epochs, read from the tables anew, and whether it is as it was sealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from jobs.auditing.images import ImageChecks
from jobs.auditing.integrity import OUTPUTS, check_digests, check_published, check_seal, sealed_rows
from jobs.auditing.landed import EventCounts
from jobs.auditing.scope import EpochSlice, Stretch, cursors_of
from jobs.auditing.sites import check_roster, set_aside
from jobs.epoch.cursor import Cursor
from jobs.lake import Lake
from jobs.lake.conditions import RowCondition, WholeNumber
from jobs.lake.seals import Seal, from_rows
from jobs.lake.times import rows_by
from jobs.quality.findings import Finding
from monitoring_lib.tables import DRAFTS, EPOCHS, MESSAGES, SITE_STATES, STATES, SYNOPSES, Table

_MOST_BYTES = 64_000_000
"""Images of the sites' tables that are read at a time."""


@dataclass(frozen=True)
class SealedChunk:
    """The seals of the chunk's epochs that a stretch watches, and of the one before them."""

    lake: Lake
    stretch: Stretch
    seals: Mapping[int, list[tuple[Seal, str]]]
    """By number of the epoch: every revision, the last one last, with its digest as stored."""
    cursors: Mapping[int, Cursor]
    summary: str
    """The name of what the truth is computed from."""
    rows: Mapping[Table, pa.Table] = field(repr=False)
    """Of the epochs that are judged, all that is sealed."""

    @classmethod
    def of(cls, lake: Lake, version: int, stretch: Stretch, chunk: EpochSlice, summary: str) -> SealedChunk:
        """As of a commit of the ledger."""
        clock = stretch.source.clock
        first, stop = max(chunk.start, stretch.first, 1) - 1, min(chunk.stop, stretch.last + 1)
        seals = _seals(lake, version, stretch, clock.start_of(first), clock.start_of(stop))
        current = [revisions[-1][0] for revisions in seals.values()]
        cursors = {clock.epoch_of(start): one for start, one in cursors_of(lake, current).items()}
        judged = [
            seal for number, revisions in seals.items() for seal, _ in revisions
            if number in stretch.judged and number in chunk
        ]  # fmt: skip
        rows = {table: sealed_rows(lake, table, judged) for table in OUTPUTS} if judged else {}
        return cls(lake, stretch, seals, cursors, summary, rows)

    def judged(self, chunk: EpochSlice) -> list[int]:
        return [number for number in sorted(self.seals) if number in self.stretch.judged and number in chunk]

    def seal(self, number: int) -> Seal:
        """The last revision."""
        return self.seals[number][-1][0]

    def drafts(self, number: int) -> pa.Table:
        """The rows of an epoch's answer."""
        seal, rows = self.seal(number), self.rows[DRAFTS]
        start = pa.scalar(seal.epoch_start, pa.int64()).cast(rows["epoch_start"].type)
        return rows.filter(
            pc.and_(pc.equal(rows["epoch_start"], start), pc.equal(rows["write"], seal.writes["drafts"]))
        )

    def synopses(self, number: int) -> dict[str, str] | None:
        """By site the SHA-256 of what the truth is computed from, as sealed; None where no method takes that in."""
        seal, summary = self.seal(number), self.summary
        if f"synopses:{summary}" not in seal.digests:
            return None
        part = self._synopses.get((seal.epoch_start, seal.writes["synopses"], summary))
        return {} if part is None else dict(zip(part["site"].to_pylist(), part["payload"].to_pylist(), strict=True))

    @cached_property
    def _synopses(self) -> Mapping[tuple[object, ...], pa.Table]:
        return rows_by(self.rows[SYNOPSES], "epoch_start", "write", "summary")

    def check(self, chunk: EpochSlice, images: ImageChecks, landed: EventCounts) -> Iterator[Finding]:
        """The integrity of the epochs that are judged."""
        numbers = self.judged(chunk)
        if not numbers:
            return
        seals = [seal for number in numbers for seal, _ in self.seals[number]]
        for table, rows in self.rows.items():
            yield from check_digests(self.lake, table, seals, rows)
        yield from check_published(self.lake, seals)
        yield from images.check_messages(seals, self.rows[MESSAGES])
        states, current = self.rows[STATES], [self.seal(number).writes["states"] for number in numbers]
        yield from images.check_states(states.filter(pc.is_in(states["write"], pa.array(current, pa.string()))))
        yield from self._check_site_images(images, [self.seal(number) for number in numbers])
        source = self.stretch.source
        aside = set_aside(self.lake, source, [self.seal(number) for number in numbers])
        for number in numbers:
            before = self.seals.get(number - 1)
            parent = before[-1][1] if before else "" if number == self.stretch.begins else None
            yield from check_seal(self.seals[number], parent)
            cursor = self.cursors.get(number - 1, Cursor())
            known = {member.site for member in cursor.members}
            came = landed.came(number, self.seal(number).landing)
            yield from check_roster(source, self.seal(number), self.cursors.get(number), known, came, aside)

    def _check_site_images(self, images: ImageChecks, seals: Sequence[Seal]) -> Iterator[Finding]:
        """Payloads of the sites' tables, so many bytes at a time; those that the truth made again are known."""
        name, source = self.stretch.monitor.name, self.stretch.source.name
        known = f"synopses:{self.summary}"
        others = sorted({key.partition(":")[2] for seal in seals for key in seal.digests
                         if key.startswith("synopses:") and key != known})  # fmt: skip
        bases: list[RowCondition] = [("monitor", "=", name), ("form", "=", "base")]
        sketches: list[RowCondition] = [("source", "=", source), ("summary", "in", others)]
        for part in _parts(seals, self.rows):
            columns = ["epoch_start", "method", "site", "payload"]
            yield from images.check_site_states(self.lake.sealed(SITE_STATES, part, ["site_states"], bases, columns))
            if others:
                columns = ["epoch_start", "summary", "site", "payload"]
                yield from images.check_synopses(self.lake.sealed(SYNOPSES, part, ["synopses"], sketches, columns))


def _parts(seals: Sequence[Seal], rows: Mapping[Table, pa.Table]) -> Iterator[list[Seal]]:
    """Epochs one after the other, until their images in the sites' tables come to too many bytes."""
    sizes: dict[int, int] = {}
    for table in (SITE_STATES, SYNOPSES):
        for (start,), part in rows_by(rows[table], "epoch_start").items():
            if "payload_bytes" in part.column_names:
                sizes[start] = sizes.get(start, 0) + int(pc.sum(part["payload_bytes"]).as_py() or 0)
    waiting: list[Seal] = []
    for seal in seals:
        if waiting and sum(sizes.get(one.epoch_start, 0) for one in (*waiting, seal)) > _MOST_BYTES:
            yield waiting
            waiting = []
        waiting.append(seal)
    if waiting:
        yield waiting


def _seals(lake: Lake, version: int, stretch: Stretch, start: int, end: int) -> dict[int, list[tuple[Seal, str]]]:
    conditions: list[RowCondition] = [
        ("source", "=", stretch.source.name), ("monitor", "=", stretch.monitor.name),
        ("epoch_start", ">=", start), ("epoch_start", "<", end), ("version", "<=", WholeNumber(version)),
    ]  # fmt: skip
    rows = lake.centre.read(EPOCHS, conditions)
    rows = rows.sort_by([("epoch_start", "ascending"), ("revision", "ascending")])
    found: dict[int, list[tuple[Seal, str]]] = {}
    for seal, digest in zip(from_rows(rows), rows["digest"].to_pylist(), strict=True):
        found.setdefault(stretch.source.clock.epoch_of(seal.epoch_start), []).append((seal, digest))
    return found
