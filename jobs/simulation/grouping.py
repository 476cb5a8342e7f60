"""Events grouped by epoch, site and keys, their measure reduced exactly, in memory that the groups alone decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.epochs import format_time
from monitoring_lib.errors import DataError
from monitoring_lib.summaries import Measure

MOST_PENDING = 4_000_000
"""Rows that wait to be grouped: a trace of any length takes as much memory as these and its groups."""

_ENCODED = pa.dictionary(pa.int32(), pa.string())
_ORDER = ("time", "path", "line")
"""What the last of several readings is last by."""

IntColumn = NDArray[np.int64]
Cuts = NDArray[np.intp]


@dataclass
class TraceGrouping:
    """Takes in events, then gives a table of one row for each epoch, site and combination of keys, sorted so.

    Texts are sorted by code point. `value` is the measure and `events` how many events it stands for.
    """

    monitor: str
    keys: Sequence[str]
    measure: Measure
    start: int
    length: int
    most_pending: int = MOST_PENDING
    _pending: list[pa.Table] = field(default_factory=list)
    _grouped: list[pa.Table] = field(default_factory=list)

    def add(
        self,
        epochs: IntColumn,
        sites: pa.Array,
        keys: Mapping[str, pa.Array],
        values: pa.Array | None,
        order: Mapping[str, Any],
    ) -> None:
        """Events, none of whose columns holds a null. `values` is None for a count; `order` says time, path, line."""
        if not len(epochs):
            return
        columns: dict[str, Any] = {"epoch": epochs, "site": encoded(sites)}
        columns |= {_named(name): encoded(keys[name]) for name in self.keys}
        columns["events"] = np.ones(len(epochs), np.int64)
        if values is not None:
            columns["value"] = values
        if self.measure.reduction == "last":
            columns |= {name: order[name] for name in _ORDER}
        self._pending.append(pa.table(columns))
        if sum(map(len, self._pending)) > self.most_pending:
            self._compact()

    def table(self) -> pa.Table | None:
        """All groups, None where there are none. Columns: epoch, site, `key KEY` for each key, events, value."""
        self._compact()
        return self._finished(self._grouped[0]) if self._grouped else None

    def key(self, table: pa.Table, name: str) -> pa.Array:
        return table[_named(name)].chunk(0)

    def _finished(self, table: pa.Table) -> pa.Table:
        if self.measure.reduction == "mean":
            mean = _rounded(table["value"].to_numpy(), table["events"].to_numpy())
            return table.set_column(table.schema.get_field_index("value"), "value", pa.array(mean))
        return table

    def _compact(self) -> None:
        if not self._pending:
            return
        table = pa.concat_tables([*self._grouped, *self._pending])
        self._pending, self._grouped = [], []
        named = ["site", *map(_named, self.keys)]
        codes = {name: _sorted_codes(table[name]) for name in named}
        epochs = table["epoch"].to_numpy()
        order = np.lexsort([*self._within(table), *(codes[name][0] for name in reversed(named)), epochs])
        grouped = [epochs[order], *(codes[name][0][order] for name in named)]
        cuts = _starts_of_runs(grouped)
        columns: dict[str, Any] = {"epoch": grouped[0][cuts]}
        for name, column in zip(named, grouped[1:], strict=True):
            texts, numbers = codes[name][1], pa.array(column[cuts])
            columns[name] = numbers if texts is None else pa.DictionaryArray.from_arrays(numbers, texts)
        columns["events"] = np.add.reduceat(table["events"].to_numpy()[order], cuts)
        columns |= self._reduced(table, order, cuts, columns)
        self._grouped = [pa.table(columns).combine_chunks()]

    def _within(self, table: pa.Table) -> list[IntColumn]:
        """What orders the events of one group."""
        if self.measure.reduction != "last":
            return []
        return [table[name].to_numpy() for name in reversed(_ORDER)]

    def _reduced(self, table: pa.Table, order: Cuts, cuts: Cuts, made: Mapping[str, Any]) -> dict[str, IntColumn]:
        if self.measure.reduction == "count":
            return {}
        values = table["value"].to_numpy()[order]
        if self.measure.reduction in ("sum", "mean"):
            self._refuse_too_large(values, cuts, made)
            return {"value": np.add.reduceat(values, cuts)}
        if self.measure.reduction == "last":
            last = np.append(cuts[1:], len(values)) - 1
            return {"value": values[last]} | {name: table[name].to_numpy()[order][last] for name in _ORDER}
        reduce = np.minimum if self.measure.reduction == "min" else np.maximum
        return {"value": reduce.reduceat(values, cuts)}

    def _refuse_too_large(self, values: IntColumn, cuts: Cuts, made: Mapping[str, Any]) -> None:
        """DataError where a sum needs more than 64 bits; whatever wraps on the way to one that fits is exact."""
        sizes = np.add.reduceat(np.abs(values, dtype=np.float64), cuts)
        ends = np.append(cuts[1:], len(values))
        for group in np.flatnonzero(sizes >= 2.0**62):
            total = sum(values[cuts[group] : ends[group]].tolist())
            if not -(2**63) <= total < 2**63:
                at = int(group)
                keys = ", ".join(f"{name} {pa.array(made[_named(name)])[at].as_py()!r}"[:200] for name in self.keys)
                start = format_time(self.start + int(made["epoch"][at]) * self.length)
                raise DataError(
                    f"monitor {self.monitor}: site {made['site'][at].as_py()!r}, epoch {start}, {keys or 'no key'}:"
                    f" {self.measure.column} sums up to {total}, which does not fit in 64 bits;"
                    " choose a smaller scale for it in the source, or a shorter epoch"
                )


def encoded(column: pa.Array) -> pa.Array:
    """Texts as numbers in a dictionary; whole numbers, such as ticks and hashes, as they are."""
    if column.type == _ENCODED or pa.types.is_integer(column.type):
        return column
    return column.cast(pa.string()).dictionary_encode()


def decoded(column: pa.Array) -> pa.Array:
    return column.dictionary.take(column.indices) if pa.types.is_dictionary(column.type) else column


def _named(key: str) -> str:
    """The column of a key: no key's name collides with the other columns."""
    return f"key {key}"


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


def _starts_of_runs(columns: Sequence[NDArray[Any]]) -> Cuts:
    """Where a row differs from the one before it in any column; the first row does."""
    differs = np.zeros(len(columns[0]), bool)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def _rounded(sums: IntColumn, counts: IntColumn) -> IntColumn:
    """The means, rounded to whole numbers, halves to even."""
    whole, rest = np.divmod(sums, counts)
    up = (2 * rest > counts) | ((2 * rest == counts) & (whole % 2 == 1))
    return np.asarray(whole + up, np.int64)
