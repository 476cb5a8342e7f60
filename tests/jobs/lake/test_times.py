"""Rows told apart by the values of their columns."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from jobs.lake.times import rows_by

NAMES = st.sampled_from(["a", "b", "ä", "", None])
TIMES = st.one_of(st.none(), st.integers(0, 3), st.integers(0, 2**50))
ROWS = st.lists(st.tuples(NAMES, TIMES, NAMES), max_size=40)


def _table(rows: list[tuple[Any, ...]], pieces: int) -> pa.Table:
    step = max(1, len(rows) // pieces)
    schema = pa.schema(
        [("monitor", pa.string()), ("start", pa.timestamp("us", "UTC")), ("write", pa.string()), ("at", pa.int64())]
    )
    parts = [
        pa.Table.from_arrays(
            [
                pa.array([row[0] for row in part], pa.string()),
                pa.array([row[1] for row in part], pa.int64()).cast(pa.timestamp("us", "UTC")),
                pa.array([row[2] for row in part], pa.string()),
                pa.array(range(first, first + len(part)), pa.int64()),
            ],
            schema=schema,
        )
        for first in range(0, len(rows), step)
        for part in [rows[first : first + step]]
    ]
    return pa.concat_tables([schema.empty_table(), *parts])


@given(ROWS, st.booleans(), st.integers(1, 3))
def test_each_combination_gets_its_rows_in_the_order_in_which_they_stand(
    rows: list[tuple[Any, ...]], together: bool, pieces: int
) -> None:
    if together:
        rows = sorted(rows, key=repr)
    expected: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        expected[row].append(at)
    found = rows_by(_table(rows, pieces), "monitor", "start", "write")
    assert {key: part["at"].to_pylist() for key, part in found.items()} == expected
