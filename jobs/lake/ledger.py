"""The ledger `epochs`: which writes are the truth. A seal is one compare-and-swap commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from deltalake import DeltaTable

from jobs.lake.seals import LANDING, Seal, from_rows, to_rows
from jobs.lake.store import Condition, Store, scan
from monitoring_lib.epochs import Clock, format_time
from monitoring_lib.errors import AlreadySealed, NotNow
from monitoring_lib.tables import EPOCHS


class Overtaken(NotNow):
    """Another landing of the same source came between: look again at which files are new."""


@dataclass
class Ledger:
    """Reads and writes seals. Of several revisions of an epoch the last one counts."""

    store: Store
    _read_before: dict[str, list[Seal]] = field(default_factory=dict, repr=False)
    _version: int = -1
    """All seals of a source as of a version: every step asks for them, monitor by monitor."""

    def seals(self, source: str, monitor: str, start: int | None = None, end: int | None = None) -> list[Seal]:
        """The current seals of a monitor with ``start <= epoch_start < end``, in order of epochs."""
        return _current(
            [
                seal
                for seal in self._of_source(source, start)
                if seal.monitor == monitor
                and (start is None or seal.epoch_start >= start)
                and (end is None or seal.epoch_start < end)
            ]
        )

    def _of_source(self, source: str, since: int | None = None) -> list[Seal]:
        """All seals of a source's monitors; where they are not known yet, those of recent epochs may be enough."""
        found = self.store.open(EPOCHS)
        if found is None:
            return []
        if found.version() != self._version:
            self._version = found.version()
            self._read_before.clear()
        known = self._read_before.get(source)
        if known is not None:
            return known
        conditions: list[Condition] = [("source", "=", source)]
        if since is not None:
            conditions.append(("epoch_start", ">=", since))
        seals = from_rows(scan(found, EPOCHS, conditions, list(EPOCHS.columns)))
        if since is None:
            self._read_before[source] = seals
        return seals

    def all_seals(self) -> list[Seal]:
        """Every revision of everything."""
        return from_rows(self.store.read(EPOCHS))

    def revisions(self, source: str, monitor: str) -> list[Seal]:
        """Every seal of a monitor, in order of epochs and revisions."""
        seals = [seal for seal in self._of_source(source) if seal.monitor == monitor]
        return sorted(seals, key=lambda seal: (seal.epoch_start, seal.revision))

    def seal(self, seals: Sequence[Seal], length: int) -> None:
        """Commits the seals of epochs of this length, all or none. Sealing the same write again does nothing."""
        sealed_at = int(time.time() * 1_000_000)

        def decide(table: DeltaTable) -> pa.Table | None:
            standing = {(seal.monitor, seal.epoch_start): seal for seal in _standing(table, seals, length)}
            new = [seal for seal in seals if _is_next(seal, standing.get((seal.monitor, seal.epoch_start)))]
            chain = standing | {(seal.monitor, seal.epoch_start): seal for seal in new}
            for seal in new:
                _refuse_other_parent(seal, chain.get((seal.monitor, seal.epoch_start - length)))
            return to_rows([replace(seal, sealed_at=sealed_at) for seal in new]) if new else None

        if seals:
            self.store.append_if(EPOCHS, decide)

    def journal(self, source: str, clock: Clock) -> list[Seal]:
        """One seal for each landing of a source, in their order."""
        return from_rows(self.store.read(EPOCHS, _journal_of(source, clock)).sort_by("revision"))

    def last_landing(self, source: str, clock: Clock) -> int:
        """The number of a source's last landing, 0 if there was none."""
        numbers = self.store.read(EPOCHS, _journal_of(source, clock), ["revision"])["revision"].to_pylist()
        return max(numbers, default=0)

    def landed(self, source: str, start: int, end: int) -> list[Seal]:
        """Every landing that brought events to these epochs."""
        conditions: list[Condition] = [
            ("source", "=", source), ("monitor", "=", LANDING),
            ("epoch_start", ">=", start), ("epoch_start", "<", end),
        ]  # fmt: skip
        return from_rows(self.store.read(EPOCHS, conditions))

    def seal_landing(
        self, source: str, clock: Clock, after: int, write: str, counts: dict[int, dict[str, int]]
    ) -> None:
        """Makes a landing true: its entry in the journal, and one in each epoch that it brought events to.

        `after` is the last landing that was known when the files were chosen; if another has come since, its
        files may be the same ones, and Overtaken is raised.
        """
        number = after + 1
        rows = [
            Seal(
                source, LANDING, epoch_start, number, write, {"events": write}, landing=number, counts=found,
                sealed_at=int(time.time() * 1_000_000),
            )
            for epoch_start, found in sorted({journal_start(clock): {}, **counts}.items())
        ]  # fmt: skip

        def decide(table: DeltaTable) -> pa.Table | None:
            journal = from_rows(scan(table, EPOCHS, _journal_of(source, clock), list(EPOCHS.columns)))
            if any(seal.write == write for seal in journal):
                return None
            if any(seal.revision > after for seal in journal):
                raise Overtaken(f"{source}: another landing came between; look for new files again")
            return to_rows(rows)

        self.store.append_if(EPOCHS, decide)


def journal_start(clock: Clock) -> int:
    """Where a source's landings keep their journal: an epoch before the first, which holds no events."""
    return clock.start_of(-1)


def _journal_of(source: str, clock: Clock) -> list[Condition]:
    return [("source", "=", source), ("monitor", "=", LANDING), ("epoch_start", "=", journal_start(clock))]


def _current(seals: Iterable[Seal]) -> list[Seal]:
    last: dict[tuple[str, int], Seal] = {}
    for seal in sorted(seals, key=lambda seal: seal.revision):
        last[seal.monitor, seal.epoch_start] = seal
    return sorted(last.values(), key=lambda seal: (seal.monitor, seal.epoch_start))


def _standing(table: DeltaTable, wanted: Sequence[Seal], length: int) -> list[Seal]:
    """What is sealed where the seals would go, and right before."""
    conditions: list[Condition] = [
        ("source", "=", wanted[0].source),
        ("monitor", "in", sorted({seal.monitor for seal in wanted})),
        ("epoch_start", ">=", min(seal.epoch_start for seal in wanted) - length),
        ("epoch_start", "<=", max(seal.epoch_start for seal in wanted)),
    ]
    return _current(from_rows(scan(table, EPOCHS, conditions, list(EPOCHS.columns))))


def _is_next(wanted: Seal, standing: Seal | None) -> bool:
    """Whether the seal is still to be written; an error if another one stands where it should go."""
    if standing is not None and standing.write == wanted.write:
        return False
    if wanted.revision != (0 if standing is None else standing.revision + 1):
        raise AlreadySealed(
            f"{wanted.monitor}, epoch {format_time(wanted.epoch_start)}: sealed by another write"
            f" ({standing.write if standing else 'none'}, revision {standing.revision if standing else '-'});"
            " `farwatch run` goes on from there, `--revise REASON` seals a correction over it"
        )
    return True


def _refuse_other_parent(wanted: Seal, before: Seal | None) -> None:
    parent = before.digest if before else ""
    if wanted.parent != parent:
        raise AlreadySealed(
            f"{wanted.monitor}, epoch {format_time(wanted.epoch_start)}: the epoch before it was sealed anew since"
            " this run began; run it again"
        )
