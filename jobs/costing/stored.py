"""A monitor's sealed epochs as a replay needs them: who joined, who was missing, and the synopses, checked as read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.epoch.asked_then import monitor_then, source_then
from jobs.epoch.chain import cursor_of
from jobs.epoch.checked import check_sealed
from jobs.epoch.context import Context
from jobs.epoch.cursor import Member
from jobs.epoch.planning import placements_of
from jobs.lake import Lake, column_list
from jobs.lake.records import digest_key
from jobs.lake.seals import Seal
from jobs.looking.storage import require_site_tables
from monitoring_lib.codec import decode
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import NotNow
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.protocols import find_question
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.tables import SYNOPSES

_AT_A_TIME = 64
"""Epochs whose synopses are in memory at once, beside those that a window keeps."""

SummaryImages = dict[tuple[str, int], dict[str, bytes]]
"""By the name of a summary and the start of an epoch, then by site."""


@dataclass(frozen=True)
class StoredEpoch:
    """One sealed epoch: who joined in it, who was missing, and whether rows of theirs are owed."""

    number: int
    cell: Cell
    joined: Sequence[Member]
    missing: Sequence[str]
    set_aside: bool
    _images: SummaryImages = field(repr=False)

    def synopses(self, found: FoundSynopses) -> dict[str, Any]:
        """By site, as stored; or built of the exact ones, where only those are."""
        images = self._images.get((found.name, self.cell.start), {})
        stored = {site: decode(image, found.stored.synopsis) for site, image in images.items()}
        if found.stored == found.summary:
            return stored
        return {site: _built(found, self.cell, synopsis) for site, synopsis in stored.items()}


@dataclass(frozen=True)
class FoundSynopses:
    """Where the synopses of a summary are: those of `stored`, under a name. That is itself, or the exact one."""

    summary: Summary
    stored: Summary
    name: str


@dataclass(frozen=True)
class Stored:
    """The whole chain of a monitor, as it is sealed now."""

    lake: Lake
    source: Source
    monitor: Monitor
    seals: Sequence[Seal]
    members: Sequence[Member]

    @classmethod
    def of(cls, context: Context, name: str) -> Stored:
        monitor = context.config.monitor(name)
        source = context.config.source(monitor.source or "")
        seals = context.lake.ledger.seals(source.name, name)
        if not seals:
            raise NotNow(
                f"{name}: no epoch is sealed yet, so there is nothing to replay; seal some by"
                f" `farwatch run --source {source.name} --from {format_time(source.origin)}"
                f" --to {format_time(source.origin + source.epoch)}`, or try a trace with `farwatch simulate`"
            )
        require_site_tables(context.lake)
        return cls(context.lake, source, monitor, seals, cursor_of(context.lake, seals[-1]).members)

    def find(self, variant: Monitor, summary: Summary) -> FoundSynopses | str:
        """Where the synopses are that a variant of the monitor takes in; if nowhere, why it cannot be replayed."""
        name = variant.intake(summary, self.source).name
        lacking = self._lacking(name)
        if lacking is None:
            return FoundSynopses(summary, summary, name)
        exact = find_question(variant.question).exact(variant.ask(self.source))
        stored = variant.intake(exact, self.source).name
        if summary.keys == exact.keys and exact.rows_of(exact.empty(_EMPTY)) is not None:
            if self._lacking(stored) is None:
                return FoundSynopses(summary, exact, stored)
            remedy = "; with a shadow that takes in exact counts, such as `exact`, it could be replayed"
        else:
            remedy = ""
        return f"takes in other synopses than were made in epoch {format_time(lacking)}{remedy}"

    def placements(self, expressions: tuple[str, ...]) -> Mapping[str, tuple[str, ...]] | None:
        """By site where it belongs in a topology made of these expressions; None if no sealed method used them."""
        if not expressions:
            return {member.site: () for member in self.members}
        then = monitor_then(self.seals[-1])
        for method, wanted in placements_of(then, source_then(self.seals[-1])).items():
            if wanted == expressions:
                return {member.site: member.placements.get(method, ()) for member in self.members}
        return None

    def _lacking(self, name: str) -> int | None:
        """The first epoch of which no synopses of a summary were made."""
        key = digest_key("synopses", name)
        return next((seal.epoch_start for seal in self.seals if key not in seal.digests), None)

    def epochs(self, wanted: Sequence[FoundSynopses], last: int) -> Iterator[StoredEpoch]:
        """The first epochs of the chain, so many, in order, with the synopses that are wanted."""
        names = sorted({one.name for one in wanted})
        joined: dict[int, list[Member]] = {}
        for member in self.members:
            joined.setdefault(member.joined, []).append(member)
        for first in range(0, last, _AT_A_TIME):
            seals = self.seals[first : min(first + _AT_A_TIME, last)]
            images = self._read(seals, names)
            for seal in seals:
                number, start = self.source.clock.epoch_of(seal.epoch_start), seal.epoch_start
                cell = Cell("", number, start, start + self.source.epoch, self.monitor.tick or self.source.tick)
                yield StoredEpoch(
                    number, cell, joined.get(number, ()), seal.missing_sites, self._set_aside(seal, number), images
                )

    def _read(self, seals: Sequence[Seal], names: Sequence[str]) -> SummaryImages:
        images: SummaryImages = {}
        for name in names:
            rows = self.lake.sealed(
                SYNOPSES, seals, ["synopses"], [("source", "=", self.source.name), ("summary", "=", name)]
            )
            check_sealed(self.lake, SYNOPSES, ["synopses"], seals, rows, name)
            cells = zip(column_list(rows, "epoch_start"), *(_list(rows, n) for n in ("site", "payload")), strict=True)
            for start, site, payload in cells:
                images.setdefault((name, start), {})[site] = payload
        return images

    def _set_aside(self, seal: Seal, number: int) -> bool:
        """Whether a missing site had landed events of the epoch."""
        return bool(seal.missing_sites) and any(one.epoch == number for one in cursor_of(self.lake, seal).owed)


_EMPTY = Cell("", 0, 0, 1, 1)


def _list(rows: pa.Table, name: str) -> list[Any]:
    found: list[Any] = rows[name].to_pylist()
    return found


def _built(found: FoundSynopses, cell: Cell, exact: Any) -> Any:
    """The synopsis that `summarise` would have made of the same events."""
    rows = found.stored.rows_of(exact)
    assert rows is not None
    if found.summary.hashed:
        rows = _hashed(rows)
    return found.summary.build(cell, rows)


def _hashed(rows: Rows) -> Rows:
    """With hashes in place of texts, in the order in which `summarise` gives them."""
    [(key, texts)] = rows.keys.items()
    hashes = pa.array(hash_strings(texts, SPARK_SEED))
    order = pc.sort_indices(hashes)
    return Rows({key: hashes.take(order)}, rows.values.take(order), rows.events.take(order))
