"""Digests of content: what rows say, not when or by which write they were written. Worked out in columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.tables import Kind, Table


def digest_rows(table: Table, rows: pa.Table | Iterable[Mapping[str, Any]]) -> str:
    """The same for the same rows in any order. Binary cells count by their SHA-256, so that a site's payload
    need not travel to be part of a digest: rows may come with it in place of the cell, as hex."""
    found = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), table.schema)
    plain = pa.table({name: _sortable(found[name], table.columns[name].kind) for name in table.content})
    total = hashlib.sha256(f"{plain.num_rows}".encode())
    for column in _in_order(plain, [name for name in table.key if name in plain.column_names]).columns:
        _update(total, column)
    return total.hexdigest()[:32]


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


def _in_order(rows: pa.Table, key: list[str]) -> pa.Table:
    """By the key; by everything where rows share one."""
    if rows.num_rows < 2:
        return rows
    vary = [name for name in key if len(pc.unique(rows[name])) > 1]
    ordered = rows
    if vary:
        order = pc.sort_indices(rows, [(name, "ascending") for name in vary])
        if (np.diff(order.to_numpy().astype(np.int64)) != 1).any():  # rows mostly come in order already
            ordered = rows.take(order)
    same = np.ones(rows.num_rows - 1, bool)
    for name in vary:
        column = ordered[name].combine_chunks()
        same &= pc.fill_null(pc.equal(column[1:], column[:-1]), True).to_numpy(zero_copy_only=False)
    if same.any():
        return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in rows.column_names]))
    return ordered


def _update(total: Any, column: pa.ChunkedArray) -> None:
    """Nulls, lengths and bytes of a column, whatever chunks and offsets it has in memory."""
    nulls = column.is_null().combine_chunks()
    total.update(np.packbits(nulls.to_numpy(zero_copy_only=False)).tobytes())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        texts = pc.fill_null(column, "").cast(pa.large_string()).combine_chunks()
        _, offsets, content = texts.buffers()
        ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        total.update(np.diff(ends).tobytes())
        total.update(memoryview(content)[int(ends[0]) : int(ends[-1])] if content is not None else b"")
        return
    numbers = pc.fill_null(column, 0)
    total.update(numbers.to_numpy().tobytes())
