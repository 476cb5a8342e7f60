"""Digests of content: what rows say, not when or by which write they were written. Worked out in columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.tables import Kind, Table


def digest_rows(table: Table, rows: pa.Table | Iterable[Mapping[str, Any]]) -> str:
    """The same for the same rows in any order. Binary cells count by their SHA-256, so that a site's payload
    need not travel to be part of a digest: rows may come with it in place of the cell, as hex."""
    return digest_groups(
        table, [rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), table.schema)]
    )[0]


def digest_groups(table: Table, groups: Sequence[pa.Table]) -> list[str]:
    """A digest for each group of rows. Columns are made ready once for all: most groups have few rows, and many do."""
    if not groups:
        return []
    found = pa.concat_tables(groups)
    plain = pa.table({name: _sortable(found[name], table.columns[name].kind) for name in table.content})
    sizes = np.array([group.num_rows for group in groups])
    ordered = _in_order(plain, [name for name in table.key if name in plain.column_names], sizes)
    columns = [_PlainBytes(column) for column in ordered.columns]
    digests, start = [], 0
    for size in sizes.tolist():
        total = hashlib.sha256(f"{size}".encode())
        for column in columns:
            column.update(total, start, start + size)
        digests.append(total.hexdigest()[:32])
        start += size
    return digests


def _sortable(column: pa.ChunkedArray, kind: Kind) -> pa.ChunkedArray:
    """The column as numbers or texts, which have an order."""
    if pa.types.is_binary(column.type):
        return pa.chunked_array([[None if cell is None else _sha(cell) for cell in column.to_pylist()]], pa.string())
    if kind in (Kind.TIMESTAMP, Kind.DATE):
        column = column.cast(kind.arrow) if kind == Kind.DATE else column
        return column.cast(pa.int32() if kind == Kind.DATE else pa.int64()).cast(pa.int64())
    if kind in (Kind.STRINGS, Kind.TEXTS, Kind.NUMBERS):
        texts = [None if cell is None else json.dumps(_ordered(cell, kind)) for cell in column.to_pylist()]
        return pa.chunked_array([texts], pa.string())
    return column.cast(pa.int64()) if kind == Kind.BOOLEAN else column


def _ordered(cell: Any, kind: Kind) -> Any:
    return cell if kind == Kind.STRINGS else sorted(dict(cell).items())


def _sha(cell: bytes) -> str:
    return hashlib.sha256(cell).hexdigest()


def _in_order(rows: pa.Table, key: list[str], sizes: NDArray[np.int64]) -> pa.Table:
    """Each group by the key; by everything where rows of it share one."""
    if rows.num_rows < 2:
        return rows
    group = np.repeat(np.arange(len(sizes)), sizes)
    vary = [name for name in key if len(pc.unique(rows[name])) > 1]
    ordered = rows
    if vary:
        order = _order(rows, group, vary)
        if (np.diff(order) != 1).any():  # rows mostly come in order already
            ordered = rows.take(order)
    same = group[1:] == group[:-1]
    for name in vary:
        column = ordered[name].combine_chunks()
        same &= pc.fill_null(pc.equal(column[1:], column[:-1]), True).to_numpy(zero_copy_only=False)
    if same.any():
        tied = np.flatnonzero(np.isin(group, group[1:][same]))
        places = np.arange(rows.num_rows)
        places[tied] = tied[_order(ordered.take(tied), group[tied], rows.column_names)]
        return ordered.take(places)
    return ordered


def _order(rows: pa.Table, group: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """Where the rows stand once they are sorted by group, then by these columns."""
    columns = [rows[name] for name in names]
    if group[0] != group[-1]:
        columns.insert(0, pa.array(group))
    numbered = pa.table(columns, names=[str(at) for at in range(len(columns))])
    order = pc.sort_indices(numbered, [(name, "ascending") for name in numbered.column_names])
    places: NDArray[np.int64] = order.to_numpy().astype(np.int64)
    return places


class _PlainBytes:
    """Nulls, lengths and bytes of a column, whatever chunks and offsets it has in memory."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._nulls = column.is_null().combine_chunks().to_numpy(zero_copy_only=False)
        self._ends: NDArray[np.int64] | None = None
        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            self._numbers = pc.fill_null(column, 0).to_numpy()
            return
        texts = pc.fill_null(column, "").cast(pa.large_string()).combine_chunks()
        _, offsets, content = texts.buffers()
        self._ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        self._content = memoryview(content) if content is not None else memoryview(b"")

    def update(self, total: Any, start: int, end: int) -> None:
        """Takes the rows from `start` to `end` into a digest."""
        total.update(np.packbits(self._nulls[start:end]).tobytes())
        if self._ends is None:
            total.update(self._numbers[start:end].tobytes())
            return
        ends = self._ends[start : end + 1]
        total.update(np.diff(ends).tobytes())
        total.update(self._content[int(ends[0]) : int(ends[-1])])
