"""Sums of a measure by epoch, site and key for a whole trace, in one process and without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.epochs import Clock, format_duration, format_time
from monitoring_lib.errors import DataError, UsageError

MOST_PENDING = 4_000_000
"""Rows that wait to be summed: a trace of any length takes as much memory as these and its sums."""
MOST_EPOCHS = 1_000_000
"""Epochs between the first and the last event of a trace; more is nearly always a wrong time or unit."""

_ENCODED = pa.dictionary(pa.int32(), pa.string())

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one site counted in one epoch: each key once, sorted, with its sum."""

    site: str
    keys: Mapping[str, pa.Array]
    sums: pa.Array


@dataclass
class Counting:
    """Takes in rows, then gives the epochs in order. Without an origin, epoch 0 holds the first event."""

    keys: Sequence[str]
    length: int
    origin: int | None = None
    _pending: list[pa.Table] = field(default_factory=list)
    _summed: list[pa.Table] = field(default_factory=list)

    def add(self, times: pa.Array, sites: pa.Array, keys: Mapping[str, pa.Array], weights: Numbers) -> None:
        """Rows, none of whose columns holds a null; times are microseconds since 1970."""
        if not len(weights):
            return
        start = self.origin or 0
        columns: dict[str, Any] = {"epoch": (times.to_numpy(zero_copy_only=False) - start) // self.length}
        columns |= {name: _encoded(column) for name, column in {"site": sites, **keys}.items()}
        columns["sum"] = weights
        self._pending.append(pa.table(columns))
        if sum(map(len, self._pending)) > MOST_PENDING:
            self._compact()

    def clock(self) -> Clock:
        """Where epoch 0 starts, now that all rows are in."""
        return Clock(self._first() * self.length if self.origin is None else self.origin, self.length)

    def last_epoch(self) -> int:
        """The last epoch with events, -1 if there are none."""
        first = self._first()
        if not self._summed:
            return -1
        return int(self._summed[0]["epoch"][-1].as_py()) - (first if self.origin is None else 0)

    def epochs(self) -> Iterator[tuple[int, list[Cell]]]:
        """Every epoch from 0 to the last one with events, also those without any."""
        self._compact()
        if not self._summed:
            return
        table = self._summed[0]
        epochs = table["epoch"].to_numpy() - (0 if self.origin is not None else self._first())
        self._refuse_too_many(self.last_epoch() + 1)
        sites = table["site"].chunk(0)
        site_names, site_codes = sites.dictionary.to_pylist(), sites.indices.to_numpy()
        columns = {name: table[name].chunk(0) for name in self.keys}
        sums = table["sum"].chunk(0)
        cuts = _starts_of_runs([epochs, site_codes])
        now, cells = 0, list[Cell]()
        for start, end in zip(cuts, [*cuts[1:], len(table)], strict=True):
            while now < epochs[start]:
                yield now, cells
                now, cells = now + 1, []
            keys = {name: _decoded(column[start:end]) for name, column in columns.items()}
            cells.append(Cell(site_names[site_codes[start]], keys, sums[start:end]))
        yield now, cells

    def _first(self) -> int:
        self._compact()
        return int(self._summed[0]["epoch"][0].as_py()) if self._summed else 0

    def _refuse_too_many(self, count: int) -> None:
        if count > MOST_EPOCHS:
            last = self.clock().start_of(count - 1)
            raise UsageError(
                f"the trace spans {count:,} epochs of {format_duration(self.length)}, from"
                f" {format_time(self.clock().origin)} to {format_time(last)}: more than {MOST_EPOCHS:,};"
                " choose longer epochs (--epoch), or mend the times or their format (--time-format)"
            )

    def _compact(self) -> None:
        """Sums what is there into one table, sorted by epoch, site and keys."""
        if not self._pending:
            return
        table = pa.concat_tables([*self._summed, *self._pending])
        self._pending, self._summed = [], []
        codes = {name: _sorted_codes(table[name]) for name in ("site", *self.keys)}
        epochs = table["epoch"].to_numpy()
        order = np.lexsort([*(codes[name][0] for name in reversed(self.keys)), codes["site"][0], epochs])
        grouped = [epochs[order], *(codes[name][0][order] for name in codes)]
        cuts = _starts_of_runs(grouped)
        columns: dict[str, Any] = {"epoch": grouped[0][cuts]}
        for name, column in zip(codes, grouped[1:], strict=True):
            texts, numbers = codes[name][1], pa.array(column[cuts])
            columns[name] = numbers if texts is None else pa.DictionaryArray.from_arrays(numbers, texts)
        columns["sum"] = _summed(table["sum"].to_numpy()[order], cuts)
        self._summed = [pa.table(columns).combine_chunks()]


def _encoded(column: pa.Array) -> pa.Array:
    """Texts as numbers in a dictionary; whole numbers, such as ticks, as they are."""
    if column.type == _ENCODED or pa.types.is_integer(column.type):
        return column
    return column.cast(pa.string()).dictionary_encode()


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary.take(column.indices) if pa.types.is_dictionary(column.type) else column


def _sorted_codes(column: pa.ChunkedArray) -> tuple[NDArray[Any], pa.Array | None]:
    """The column as numbers in the order of its values, and the sorted texts if it holds texts."""
    if pa.types.is_integer(column.type):
        return column.to_numpy(), None
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    order = pc.sort_indices(whole.dictionary).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[whole.indices.to_numpy()], whole.dictionary.take(pa.array(order))


def _starts_of_runs(columns: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
    """Where a row differs from the one before it in any column; the first row does."""
    differs = np.zeros(len(columns[0]), bool)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def _summed(numbers: Numbers, cuts: NDArray[np.intp]) -> Numbers:
    """Sums of the runs; whole numbers of 64 bits, or none at all."""
    if np.abs(numbers, dtype=np.float64).sum() >= 2.0**62:
        raise DataError("the values of the trace sum up to more than 2^62; choose a smaller scale")
    return np.add.reduceat(numbers, cuts)
