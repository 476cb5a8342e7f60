"""What an audit looks at: which epochs of which monitors, and from where on a truth must have watched to judge them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pyarrow.compute as pc

from jobs.epoch.asked_then import monitor_then, source_then
from jobs.epoch.cursor import Cursor
from jobs.lake import Lake, column_list
from jobs.lake.conditions import RowCondition, WholeNumber
from jobs.lake.seals import LANDING, Seal
from monitoring_lib.config import Monitor, Source
from monitoring_lib.methods import Method
from monitoring_lib.tables import CURSORS, EPOCHS

_MOST_EVENTS = 2_000_000
"""Landed events whose exact rows are worked on at a time."""
_MOST_EPOCHS = 128


@dataclass(frozen=True)
class Stretch:
    """Epochs of one monitor under one configuration; `judged` are those that are audited.

    A truth that has seen the epochs from `first` on can judge them. The chain begins with `begins`.
    """

    monitor: Monitor
    source: Source
    method: Method
    begins: int
    first: int
    judged: frozenset[int]

    @property
    def last(self) -> int:
        return max(self.judged)

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)


@dataclass(frozen=True)
class EpochSlice:
    """Epochs ``start <= number < stop`` whose events are read together."""

    start: int
    stop: int

    def __contains__(self, number: int) -> bool:
        return self.start <= number < self.stop


@dataclass(frozen=True)
class AuditScope:
    """`landing` is the number of the last landing that the audit takes in.

    `version` is the ledger's last commit when the audit began: what is sealed while it runs, for the first time or
    anew, is not judged.
    """

    source: Source
    version: int
    landing: int
    stretches: tuple[Stretch, ...]
    chunks: tuple[EpochSlice, ...]

    @property
    def epochs(self) -> int:
        return sum(len(one.judged) for one in self.stretches)

    def judged(self, monitor: str) -> set[int]:
        return {epoch for one in self.stretches if one.monitor.name == monitor for epoch in one.judged}


def scope_of(
    lake: Lake, source: Source, monitors: Sequence[Monitor], start: int | None, end: int | None, sample: float
) -> AuditScope:
    """The sealed epochs of ``[start, end)``, or a share of them."""
    stretches: list[Stretch] = []
    version = lake.ledger.version
    for monitor in monitors:
        chain = _chain(lake, source.name, monitor.name, version)
        wanted = {
            source.clock.epoch_of(at)
            for at in chain
            if (start is None or at >= start) and (end is None or at + source.epoch <= end)
        }
        begins = source.clock.epoch_of(min(chain, default=source.origin))
        for numbers in _alike(source, chain, _drawn(source, monitor.name, wanted, chain, sample)):
            stretches += _stretches(lake, partial(_seal, lake, source, monitor.name, version), numbers, begins)
    landing = lake.ledger.last_landing(source.name)
    return AuditScope(source, version, landing, tuple(stretches), tuple(_chunks(lake, source, stretches)))


def _chain(lake: Lake, source: str, monitor: str, version: int) -> dict[int, str]:
    """By start of each sealed epoch, the digest of the configuration of its last revision."""
    conditions: list[RowCondition] = [
        ("source", "=", source), ("monitor", "=", monitor), ("version", "<=", WholeNumber(version)),
    ]  # fmt: skip
    rows = lake.centre.read(EPOCHS, conditions, ["epoch_start", "revision", "config_digest"])
    rows = rows.sort_by([("epoch_start", "ascending"), ("revision", "ascending")])
    return dict(zip(column_list(rows, "epoch_start"), column_list(rows, "config_digest"), strict=True))


def _drawn(source: Source, monitor: str, wanted: set[int], chain: Mapping[int, str], sample: float) -> set[int]:
    """A share of the epochs, at least one. As the chain grows, other ones are drawn; on the same tables the same."""
    if sample >= 1 or not wanted:
        return wanted

    def lot(number: int) -> str:
        return hashlib.sha256(f"{source.name} {monitor} {len(chain)} {number}".encode()).hexdigest()

    return set(sorted(wanted, key=lot)[: max(1, math.ceil(sample * len(wanted)))])


def _alike(source: Source, chain: Mapping[int, str], wanted: set[int]) -> list[list[int]]:
    """The epochs in order, apart where the configuration changed."""
    found: list[list[int]] = []
    before = None
    for number in sorted(wanted):
        digest = chain[source.clock.start_of(number)]
        if digest != before:
            found.append([])
        found[-1].append(number)
        before = digest
    return found


def _stretches(lake: Lake, sealed: Callable[[int], Seal], numbers: Sequence[int], begins: int) -> Iterator[Stretch]:
    """Epochs whose truths can be one; a new one begins where nothing of the last would be needed.

    Before `begins`, the first epoch of the chain, nothing counts.
    """
    seal = sealed(numbers[0])
    then, about = monitor_then(seal), source_then(seal)
    method = then.method_objects(about)[0]
    first, judged = _watched_from(lake, sealed, method, numbers[0], begins), {numbers[0]}
    for number in numbers[1:]:
        needed = _watched_from(lake, sealed, method, number, begins) if number - 1 not in judged else first
        if needed > max(judged):
            yield Stretch(then, about, method, begins, first, frozenset(judged))
            first, judged = needed, set()
        judged.add(number)
    yield Stretch(then, about, method, begins, first, frozenset(judged))


def _watched_from(lake: Lake, sealed: Callable[[int], Seal], method: Method, number: int, begins: int) -> int:
    """The first epoch that the truth of an epoch, and of those after it, must have seen.

    A site that is missing holds the window of the last epoch that it observed: that may be the one before.
    """
    if number == begins:
        return begins
    before = sealed(number - 1)
    cursor = cursors_of(lake, [before]).get(before.epoch_start, Cursor())
    seen = [number - 1, *(max(0, last) for last in cursor.away.values())]
    return max(begins, min(method.question.watched_from(method.ask, epoch) for epoch in seen))


def cursors_of(lake: Lake, seals: Sequence[Seal]) -> dict[int, Cursor]:
    """By start of the epoch, what the seals of one monitor name, believed or not; one that is no cursor is left out."""
    conditions: list[RowCondition] = [("monitor", "=", seals[0].monitor)] if seals else []
    rows = lake.sealed(CURSORS, seals, ["cursors"], conditions, ["epoch_start", "content"])
    found: dict[int, Cursor] = {}
    for start, content in zip(column_list(rows, "epoch_start"), rows["content"].to_pylist(), strict=True):
        with suppress(ValueError, KeyError, TypeError):  # that its digest is another one is a finding of its own
            found[start] = Cursor.from_json(content)
    return found


def _seal(lake: Lake, source: Source, monitor: str, version: int, number: int) -> Seal:
    start = source.clock.start_of(number)
    return lake.ledger.seals(source.name, monitor, start, start + 1, version)[0]


def _chunks(lake: Lake, source: Source, stretches: Iterable[Stretch]) -> Iterator[EpochSlice]:
    """The epochs that some truth watches, in parts of not too many events."""
    landed = _landed(lake, source)
    start: int | None = None
    events = 0
    numbers = sorted({number for one in stretches for number in one.numbers})
    for at, number in enumerate(numbers):
        if start is not None and (
            events + landed.get(number, 0) > _MOST_EVENTS
            or number - start >= _MOST_EPOCHS
            or numbers[at - 1] != number - 1
        ):
            yield EpochSlice(start, numbers[at - 1] + 1)
            start, events = None, 0
        start = number if start is None else start
        events += landed.get(number, 0)
    if start is not None:
        yield EpochSlice(start, numbers[-1] + 1)


def _landed(lake: Lake, source: Source) -> dict[int, int]:
    """By epoch, how many events have landed."""
    conditions: list[RowCondition] = [("source", "=", source.name), ("monitor", "=", LANDING)]
    rows = lake.centre.read(EPOCHS, conditions, ["epoch_start", "counts"])
    counts = pc.fill_null(pc.map_lookup(rows["counts"], "landed", "first"), 0).to_pylist()
    found: dict[int, int] = {}
    for start, count in zip(column_list(rows, "epoch_start"), counts, strict=True):
        number = source.clock.epoch_of(start)
        found[number] = found.get(number, 0) + count
    return found
