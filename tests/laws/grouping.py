"""Events grouped into the rows that a summary is built of: the plain way, one event after the other."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.hashing import SPARK_SEED, hash_text
from monitoring_lib.summaries import TICK, Cell, Measure, Rows, Summary
from tests.laws.questions import Event


def rows_of(summary: Summary, events: Sequence[Event]) -> Rows:
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for event in events:
        key = tuple(event.get(name) for name in summary.keys)
        value = event.get("value", 1)
        if None not in key and (summary.measure == Measure() or value is not None):
            groups.setdefault(_hashed(summary, key) if summary.hashed else key, []).append(value)
    ordered = sorted(groups)
    columns = {}
    for at, name in enumerate(summary.keys):
        column = [key[at] for key in ordered]
        if name == TICK:
            columns[name] = pa.array(column, pa.int64())
        elif summary.hashed:
            columns[name] = pa.array(column, pa.uint64())
        else:
            columns[name] = pa.array(column, pa.string())
    values = pa.array([_reduced(summary.measure.reduction, groups[key]) for key in ordered], pa.int64())
    return Rows(columns, values, pa.array([len(groups[key]) for key in ordered], pa.int64()))


def _hashed(summary: Summary, key: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(
        part if name == TICK else hash_text(part, SPARK_SEED) for name, part in zip(summary.keys, key, strict=True)
    )


def synopsis_of(summary: Summary, cell: Cell, events: Sequence[Event]) -> Any:
    rows = rows_of(summary, events)
    refused = summary.refused(rows)
    if refused is not None:
        rows = rows.filter(pc.invert(refused))
    return summary.build(cell, rows)


def _reduced(reduction: str, values: list[Any]) -> int:
    if reduction == "mean":
        return int((Decimal(sum(values)) / len(values)).quantize(Decimal(1), ROUND_HALF_EVEN))
    return {"count": len, "sum": sum, "last": lambda all_: all_[-1], "min": min, "max": max}[reduction](values)
