"""Columns of tables as plain values, times as whole microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_COUNTED = 4
"""Numbers for each row up to which counting them is quicker than sorting the rows."""


def column_list(rows: pa.Table, name: str) -> list[Any]:
    """A column's values; times as microseconds."""
    column = rows[name]
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return list(plain.to_pylist())


def rows_by(rows: pa.Table, *names: str) -> Mapping[tuple[Any, ...], pa.Table]:
    """The rows of each combination of these columns' values, in the order in which they stand."""
    if not rows.num_rows:
        return {}
    code = np.zeros(rows.num_rows, np.int64)
    known: list[tuple[Any, ...]] = [()]
    for name in names:
        column = rows[name].combine_chunks()
        plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        encoded = plain.dictionary_encode("encode")
        values = encoded.dictionary.to_pylist()
        if len(values) == 1:  # most columns that rows are told apart by hold one value only
            known = [(*key, values[0]) for key in known]
            continue
        code = code * len(values) + encoded.indices.to_numpy(zero_copy_only=False)
        found, code = _renumbered(code, len(known) * len(values))
        known = [(*known[int(at) // len(values)], values[int(at) % len(values)]) for at in found]
    if len(known) == 1:
        return {known[0]: rows}
    sizes = np.bincount(code)
    if (code[1:] >= code[:-1]).all():  # rows that were written together mostly stand together
        return {
            key: rows.slice(int(end - size), int(size))
            for key, size, end in zip(known, sizes, np.cumsum(sizes), strict=True)
        }
    order = np.argsort(code, kind="stable")
    groups, start = {}, 0
    for key, size in zip(known, sizes.tolist(), strict=True):
        at = order[start : start + size]
        whole = at[-1] - at[0] + 1 == len(at)
        groups[key] = rows.slice(int(at[0]), len(at)) if whole else rows.take(pa.array(at))
        start += size
    return groups


def _renumbered(code: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers below `most` that occur, in order, and each number's place among them; few are told by counting."""
    if most > _COUNTED * len(code):
        return np.unique(code, return_inverse=True)
    there = np.bincount(code, minlength=most) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[code]
