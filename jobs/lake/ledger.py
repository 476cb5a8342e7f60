"""The ledger `epochs`: which writes count. A seal is one compare-and-swap commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from deltalake import DeltaTable

from jobs.lake.conditions import RowCondition, WholeNumber
from jobs.lake.seals import LANDING, REPLACED, Seal, from_rows, seal_rows
from jobs.lake.store import Store, largest_by_file, scan
from jobs.lake.times import column_list
from monitoring_lib.epochs import Clock, format_time
from monitoring_lib.errors import AlreadySealed, NotNow
from monitoring_lib.tables import EPOCHS


class Overtaken(NotNow):
    """Another landing of the same source came between: look again at which files are new."""


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A seal as a part of its chain."""

    epoch_start: int
    parent: str
    digest: str


@dataclass(frozen=True, slots=True)
class Landing:
    """A landing as an entry of its source's journal; `revision` is its number."""

    revision: int
    write: str


_OF_LANDING = ["revision", "write"]
_FIRST_LOOK = 32
_OLDEST, _NEWEST = -(2**62), 2**62


@dataclass
class Ledger:
    """Reads and writes seals. Of several revisions of an epoch the last one counts."""

    store: Store
    _read_before: dict[tuple[str, int, int], list[Seal]] = field(default_factory=dict, repr=False)
    _version: int = -1
    """Seals of a source as of a version: every monitor of a run asks for the same epochs."""

    def seals(
        self, source: str, monitor: str, start: int | None = None, end: int | None = None, version: int | None = None
    ) -> list[Seal]:
        """The seals of a monitor with ``start <= epoch_start < end``, in order of epochs, now or as of a commit."""
        return _current(
            seal
            for seal in self._of_source(source, start, end)
            if seal.monitor == monitor and (version is None or seal.version <= version)
        )

    def last(self, source: str, monitor: str) -> Seal | None:
        """The current seal of a monitor's newest epoch, None if it has sealed nothing."""
        start = self._newest([("source", "=", source), ("monitor", "=", monitor)])
        return None if start is None else self.seals(source, monitor, start, start + 1)[0]

    def last_sealed(self, source: str) -> int | None:
        """The start of the newest epoch that any monitor of a source has sealed."""
        return self._newest([("source", "=", source), ("monitor", ">", LANDING)])

    def _newest(self, conditions: list[RowCondition]) -> int | None:
        """The newest epoch among the seals that meet the conditions.

        They are looked for in the newest files of the table, then further and further back.
        """
        found = self.store.open(EPOCHS)
        if found is None:
            return None
        bounds, count = largest_by_file(found, "epoch_start"), _FIRST_LOOK
        while True:
            near: list[RowCondition] = [("epoch_start", ">=", bounds[count])] if count < len(bounds) else []
            starts = column_list(scan(found, EPOCHS, [*conditions, *near], ["epoch_start"]), "epoch_start")
            if starts or not near:
                return max(starts, default=None)
            count *= 8

    def _of_source(self, source: str, start: int | None, end: int | None) -> list[Seal]:
        """All seals of a source's monitors in these epochs, in every revision."""
        found = self.store.open(EPOCHS)
        if found is None:
            return []
        if found.version() != self._version:
            self._version = found.version()
            self._read_before.clear()
        key = source, _OLDEST if start is None else start, _NEWEST if end is None else end
        if key not in self._read_before:
            conditions: list[RowCondition] = [("source", "=", source)]
            if start is not None:
                conditions.append(("epoch_start", ">=", start))
            if end is not None:
                conditions.append(("epoch_start", "<", end))
            self._read_before[key] = from_rows(scan(found, EPOCHS, conditions, list(EPOCHS.columns)))
        return self._read_before[key]

    @property
    def version(self) -> int:
        """The number of the last commit, 0 where there is none."""
        found = self.store.open(EPOCHS)
        return 0 if found is None else int(found.version())

    def changed_since(self, source: str, monitor: str, version: int, end: int) -> int | None:
        """The first epoch before `end` of which a monitor's seal came after a commit, None if none did."""
        conditions: list[RowCondition] = [
            ("source", "=", source), ("monitor", "=", monitor), ("epoch_start", "<", end),
            ("version", ">", WholeNumber(version)),
        ]  # fmt: skip
        return min(column_list(self.store.read(EPOCHS, conditions, ["epoch_start"]), "epoch_start"), default=None)

    def touched_since(self, source: str, monitor: str, version: int) -> int | None:
        """The first epoch that a landing reached, or a seal of the monitor, after a commit; None if none did."""
        conditions: list[RowCondition] = [
            ("source", "=", source), ("monitor", "in", [monitor, LANDING]), ("version", ">", WholeNumber(version)),
        ]  # fmt: skip
        rows = self.store.read(EPOCHS, conditions, ["epoch_start", "monitor", "counts"])
        columns = column_list(rows, "epoch_start"), rows["monitor"].to_pylist(), rows["counts"].to_pylist()
        # An entry of the journal has no counts.
        return min((start for start, of, counts in zip(*columns, strict=True) if of == monitor or counts), default=None)

    def links(self, source: str, monitor: str, start: int, end: int) -> list[ChainLink]:
        """The digests of a monitor's current seals of some epochs, in order; nothing else of them is read."""
        conditions: list[RowCondition] = [
            ("source", "=", source), ("monitor", "=", monitor),
            ("epoch_start", ">=", start), ("epoch_start", "<", end),
        ]  # fmt: skip
        rows = self.store.read(EPOCHS, conditions, ["epoch_start", "revision", "parent", "digest"])
        rows = rows.sort_by([("epoch_start", "ascending"), ("revision", "ascending")])
        columns = (column_list(rows, name) for name in ("epoch_start", "parent", "digest"))
        last = {link[0]: ChainLink(*link) for link in zip(*columns, strict=True)}
        return list(last.values())

    def all_seals(self) -> list[Seal]:
        """Every revision of everything."""
        return from_rows(self.store.read(EPOCHS))

    def named_writes(self) -> set[str]:
        """Every write that some seal names, in whichever revision."""
        rows = self.store.read(EPOCHS, (), ["write", "writes"])
        outputs = rows["writes"].combine_chunks().items if rows.num_rows else pa.array([], pa.string())
        return {*rows["write"].unique().to_pylist(), *outputs.unique().to_pylist()}

    def revisions(self, source: str, monitor: str, start: int | None = None) -> list[Seal]:
        """Every seal of a monitor from an epoch on, in order of epochs and revisions."""
        seals = [seal for seal in self._of_source(source, start, None) if seal.monitor == monitor]
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
            number = table.version() + 1
            return seal_rows([replace(seal, sealed_at=sealed_at, version=number) for seal in new]) if new else None

        if seals:
            self.store.append_if(EPOCHS, decide)

    def journal(self, source: str, clock: Clock) -> list[Landing]:
        """All landings of a source, in their order."""
        return _landings(self.store.read(EPOCHS, _journal_of(source, clock), _OF_LANDING))

    def last_landing(self, source: str) -> int:
        """The number of a source's last landing, 0 if there was none."""
        return max(self._newest_of_landings(source)["revision"].to_pylist(), default=0)

    def landed(self, source: str, start: int, end: int) -> list[Seal]:
        """Every landing that brought events to these epochs."""
        conditions: list[RowCondition] = [
            ("source", "=", source), ("monitor", "=", LANDING),
            ("epoch_start", ">=", start), ("epoch_start", "<", end),
        ]  # fmt: skip
        return from_rows(self.store.read(EPOCHS, conditions))

    def first_landed(self, source: str) -> int | None:
        """The first epoch that any landing of a source brought events to."""
        rows = self.store.read(EPOCHS, [("source", "=", source), ("monitor", "=", LANDING)], ["epoch_start", "counts"])
        counts = (dict(found).get("landed", 0) for found in rows["counts"].to_pylist())
        starts = (start for start, count in zip(column_list(rows, "epoch_start"), counts, strict=True) if count)
        return min(starts, default=None)

    def landed_as(self, source: str) -> str:
        """What a row meant in the source's last landing that says so, '' where none does.

        It is looked for without the clock: where epochs lie is a part of what is asked for.
        """
        said = self._newest_of_landings(source, ("config", ">", ""))
        return str(said.sort_by("revision")["config"][-1].as_py()) if said.num_rows else ""

    def _newest_of_landings(self, source: str, *conditions: RowCondition) -> pa.Table:
        """Seals of a source's landings, the last one that meets the conditions among them.

        They are looked for in the last commits, then further and further back: the last landing is mostly a recent one.
        """
        wanted: list[RowCondition] = [("source", "=", source), ("monitor", "=", LANDING), *conditions]
        last, look_back = self.version, _FIRST_LOOK
        while True:
            since = max(last - look_back, -1)
            rows = self.store.read(EPOCHS, [*wanted, ("version", ">", WholeNumber(since))], ["revision", "config"])
            if rows.num_rows or since < 0:
                return rows
            look_back *= 8

    def seal_landing(
        self,
        source: str,
        clock: Clock,
        after: int,
        write: str,
        counts: Mapping[int, Mapping[str, int]],
        config: str = "",
        replaced: Mapping[int, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        """Makes a landing true: its entry in the journal, and one in each epoch that it brought events to.

        `after` is the last landing that was known when the files were chosen; if another has come since, its
        files may be the same ones, and Overtaken is raised. `config` says what a row of it means. `replaced` names, by
        epoch, digest and write of the rows that no longer count because of it.
        """
        number, instead = after + 1, replaced or {}
        rows = [
            Seal(
                source, LANDING, epoch_start, number, write,
                {"events": write} | _replaced(instead.get(epoch_start, ())), landing=number, counts=found,
                sealed_at=int(time.time() * 1_000_000),
                config=config if epoch_start == journal_start(clock) else "",
            )
            for epoch_start, found in sorted({journal_start(clock): {}, **counts}.items())
        ]  # fmt: skip

        def decide(table: DeltaTable) -> pa.Table | None:
            journal = _landings(scan(table, EPOCHS, _journal_of(source, clock), _OF_LANDING))
            if any(landing.write == write for landing in journal):
                return None
            if any(landing.revision > after for landing in journal):
                raise Overtaken(f"{source}: another landing came between; look for new files again")
            return seal_rows([replace(seal, version=table.version() + 1) for seal in rows])

        self.store.append_if(EPOCHS, decide)


def _replaced(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {f"{REPLACED} {number} {digest}": write for number, (digest, write) in enumerate(rows)}


def journal_start(clock: Clock) -> int:
    """Where a source's landings keep their journal: an epoch before the first, which holds no events."""
    return clock.start_of(-1)


def _journal_of(source: str, clock: Clock) -> list[RowCondition]:
    return [("source", "=", source), ("monitor", "=", LANDING), ("epoch_start", "=", journal_start(clock))]


def _landings(rows: pa.Table) -> list[Landing]:
    columns = (column_list(rows.sort_by("revision"), name) for name in _OF_LANDING)
    return [Landing(*entry) for entry in zip(*columns, strict=True)]


def _current(seals: Iterable[Seal]) -> list[Seal]:
    last: dict[tuple[str, int], Seal] = {}
    for seal in sorted(seals, key=lambda seal: seal.revision):
        last[seal.monitor, seal.epoch_start] = seal
    return sorted(last.values(), key=lambda seal: (seal.monitor, seal.epoch_start))


def _standing(table: DeltaTable, wanted: Sequence[Seal], length: int) -> list[Seal]:
    """What is sealed where the seals would go, and right before."""
    conditions: list[RowCondition] = [
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
