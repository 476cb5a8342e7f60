"""The course of an audit: chunk after chunk of epochs, each read while the one before is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa

from jobs.auditing.exact import ExactQuery, ExactRows, exact_queries
from jobs.auditing.images import ImageChecks
from jobs.auditing.judging import Judge, answers_of, present_of
from jobs.auditing.landed import EventCounts, check_landed
from jobs.auditing.result import Audit, MonitorResult
from jobs.auditing.scope import AuditScope, EpochSlice, Stretch
from jobs.auditing.sealed import SealedChunk
from jobs.epoch.cursor import Cursor
from jobs.lake import Lake
from jobs.quality.findings import Finding
from jobs.terminal.wording import listed
from monitoring_lib.answers import Verdicts
from monitoring_lib.epochs import to_datetime
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.tables import VERDICTS


@dataclass(frozen=True)
class Read:
    """What the landed events of a chunk say; `exact` by the name of an intake."""

    chunk: EpochSlice
    landed: EventCounts
    findings: list[Finding]
    exact: Mapping[str, ExactRows]


@dataclass
class Watched:
    """A stretch on its way."""

    judge: Judge
    images: ImageChecks
    result: MonitorResult
    lost: bool = False
    """Whether the roster of an epoch is gone: no later one can be judged."""

    @property
    def stretch(self) -> Stretch:
        return self.judge.stretch


@dataclass
class Course:
    """Judges the stretches of a scope; what it finds goes into `audit`, the verdicts come chunk by chunk."""

    lake: Lake
    scope: AuditScope
    audit: Audit
    _watched: list[Watched] = field(init=False)

    def __post_init__(self) -> None:
        self._watched = []
        for stretch in self.scope.stretches:
            name = stretch.monitor.name
            result = self.audit.monitors.setdefault(name, MonitorResult(name))
            result.method = stretch.method.name
            self._watched.append(Watched(Judge(stretch), ImageChecks(stretch.monitor, stretch.source), result))

    def chunks(self) -> Iterator[tuple[EpochSlice, pa.Table]]:
        """After each chunk the verdicts on its epochs, as rows without a write."""
        intakes = {one.judge.intake.name: one.judge.intake for one in self._watched}
        queries, chunks = exact_queries(self.scope.source, intakes.values()), self.scope.chunks
        with ThreadPoolExecutor(1) as pool:
            waiting = [pool.submit(self._read, queries, chunk) for chunk in chunks[:1]]
            for following in (*chunks[1:], None):
                if not waiting:
                    return
                read = waiting.pop().result()
                waiting += [] if following is None else [pool.submit(self._read, queries, following)]
                yield read.chunk, self._judged(read)
                self._watched = [one for one in self._watched if one.stretch.last >= read.chunk.stop]
                del read

    def _read(self, queries: Sequence[ExactQuery], chunk: EpochSlice) -> Read:
        clock = self.scope.source.clock
        start, end = clock.start_of(chunk.start), clock.start_of(chunk.stop)
        landed, findings = check_landed(self.lake, self.scope, chunk)
        exact: dict[str, ExactRows] = {}
        for query in queries if landed.cells else ():
            rows = query.sorted_rows(pa.table(query.frame(self.lake, self.scope.landing, start, end).toArrow()))
            exact |= {intake.name: rows for intake in query.intakes}
        return Read(chunk, landed, findings, exact)

    def _judged(self, read: Read) -> pa.Table:
        self.audit.findings += read.findings
        self.audit.checked["events"] += read.landed.cells.total()
        active = [one for one in self._watched if one.stretch.first < read.chunk.stop]
        sealed = [
            SealedChunk.of(self.lake, self.scope.version, one.stretch, read.chunk, one.judge.intake.name)
            for one in active
        ]
        for one, chunk in zip(active, sealed, strict=True):
            one.result.findings += chunk.check(read.chunk, one.images, read.landed)
            self.audit.checked.update({table.name: rows.num_rows for table, rows in chunk.rows.items()})
        found = [VERDICTS.schema.remove(VERDICTS.schema.get_field_index("write")).empty_table()]
        for number in range(read.chunk.start, read.chunk.stop):
            built: dict[str, dict[str, Synopsis]] = {}
            for one, chunk in zip(active, sealed, strict=True):
                if number in one.stretch.numbers and not one.lost:
                    found += self._epoch(one, chunk, read, number, built)
        return pa.concat_tables(found)

    def _epoch(
        self, one: Watched, sealed: SealedChunk, read: Read, number: int, built: dict[str, dict[str, Synopsis]]
    ) -> list[pa.Table]:  # fmt: skip
        """One epoch of one stretch: watched, and judged if it is audited. Monitors that count alike share synopses."""
        if number not in sealed.cursors:
            one.lost = True
            return []
        intake, exact = one.judge.intake, read.exact.get(one.judge.intake.name)
        if intake.name not in built:
            built[intake.name] = {} if exact is None else exact.synopses(intake, number)
        synopses, counted = built[intake.name], {} if exact is None else exact.counted.get(number, {})
        before = present_of(sealed.cursors.get(number - 1, Cursor()))
        moment = one.judge.watch(sealed.cursors[number], before, synopses, counted)
        if number not in one.stretch.judged:
            return []
        one.result.findings += _unlike(sealed, read.landed, number, synopses)
        answers, seal = answers_of(sealed.drafts(number)), sealed.seal(number)
        verdicts = one.judge.judge(moment, answers)
        one.result.take(one.stretch, seal.epoch_start, number, verdicts)
        one.result.partial += answers.any_partial
        return [_rows(verdicts, one.stretch, seal.epoch_start, seal.revision)]


def _unlike(
    sealed: SealedChunk, landed: EventCounts, number: int, synopses: Mapping[str, Synopsis]
) -> Iterator[Finding]:
    """Where a method takes in what the truth is computed from: sealed synopses that are not those of the events."""
    seal, there = sealed.seal(number), sealed.synopses(number)
    if there is None or landed.came_later(number, seal.landing):
        return
    made = {site: hashlib.sha256(one.to_bytes()).hexdigest() for site, one in synopses.items()}
    other = sorted(site for site in {*made, *there} if made.get(site) != there.get(site))
    if other:
        yield Finding(
            seal.epoch_start, "synopses are those of the events", False, monitor=seal.monitor,
            observed=f"those of {listed(other)} differ",
            detail="events, or synopses, were changed since the epoch was sealed: restore the tables `events` and"
            " `synopses` from a copy",
        )  # fmt: skip


def _rows(verdicts: Verdicts, stretch: Stretch, start: int, revision: int) -> pa.Table:
    """As the table `verdicts` holds them, but for the write."""
    table, size = verdicts.table, len(verdicts)
    about = {
        "monitor": stretch.monitor.name, "method": stretch.method.name, "epoch_start": to_datetime(start),
        "revision": revision,
    }  # fmt: skip
    arrays = []
    schema = VERDICTS.schema.remove(VERDICTS.schema.get_field_index("write"))
    for each in schema:
        if each.name in about:
            arrays.append(pa.repeat(pa.scalar(about[each.name], each.type), size))
        else:
            arrays.append(table[each.name].cast(each.type))
    return pa.Table.from_arrays(arrays, schema=schema)
