"""Whether rows are what their table's declaration says, judged before they can become part of a seal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.quality.findings import Finding
from jobs.quality.validation import Check, FailedCheck, broken_checks
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.tables import Column, Kind, Table

if TYPE_CHECKING:
    import pandas as pd

_MISSING = "missing values"
_BOUNDS = ("low", "estimate", "high")
_SHOWN = 60

RowOwner = tuple[str, int]
"""A monitor and the start of an epoch; '' and 0 where rows have none."""


def check_rows(table: Table, rows: pa.Table) -> list[Finding]:
    """Findings by monitor and epoch: each check that failed there, or one that says that all is well.

    `rows` are what one seal would name: their key is unique, whichever write they are of. What cannot be told
    of a row, or of a table that lacks the column, is monitor '' and epoch start 0: it speaks of all of them.
    """
    if rows.column_names != list(table.columns):
        return list(_misshapen(table, rows))
    try:
        rows = rows.cast(pa.schema([field.with_nullable(True) for field in table.schema]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        name, detail = f"{table.name}: columns of the declared types", _short(str(error), 300)
        return [Finding(start, name, False, monitor=monitor, detail=detail) for monitor, start in _whole(rows)]
    if rows.num_rows == 0:
        return []
    missing = _missing(table, rows)
    broken = broken_checks(_frame(table, rows, missing), list(_checks(table)))
    return list(_findings(table, rows, missing, broken))


def _misshapen(table: Table, rows: pa.Table) -> Iterator[Finding]:
    import pandas as pd

    shape = _shape(table)
    broken = broken_checks(pd.DataFrame([], columns=rows.column_names), [shape])[shape.name]
    detail = _short(f"{', '.join(rows.column_names)} where {', '.join(table.columns)} are declared", 1_000)
    for monitor, start in _whole(rows):
        yield Finding(start, shape.name, False, broken.severity, monitor, detail=detail)


def _shape(table: Table) -> Check:
    columns = {"column_list": list(table.columns)}
    return Check(f"{table.name}: columns in order", "ExpectTableColumnsToMatchOrderedList", columns)


def _checks(table: Table) -> Iterator[Check]:
    """The declaration as expectations, for rows whose columns are those that it names."""

    def check(what: str, expectation: str, **arguments: Any) -> Check:
        return Check(f"{table.name}: {what}", f"Expect{expectation}", arguments)

    yield check("no missing values", "ColumnValuesToBeNull", column=_MISSING)
    if len(table.key) > 1:
        yield check("key is unique", "CompoundColumnsToBeUnique", column_list=list(table.key), ignore_row_if="never")
    else:
        yield check("key is unique", "ColumnValuesToBeUnique", column=table.key[0])
    for name, column in table.columns.items():
        if column.least is not None:
            yield check(
                f"{name} at least {column.least:g}",
                "ColumnValuesToBeBetween",
                column=name,
                min_value=column.least,
            )
        if column.among:
            among = ", ".join(column.among)
            yield check(f"{name} among {among}", "ColumnValuesToBeInSet", column=name, value_set=list(column.among))
    if set(_BOUNDS) <= set(table.columns):
        for smaller, larger in pairwise(_BOUNDS):
            yield check(
                f"{smaller} <= {larger}", "ColumnPairValuesAToBeGreaterThanB",
                column_A=larger, column_B=smaller, or_equal=True, ignore_row_if="either_value_is_missing",
            )  # fmt: skip
        # Bounds may be infinite; what is published as the answer itself may not.
        finite = {"min_value": -sys.float_info.max, "max_value": sys.float_info.max}
        yield check("estimate is finite", "ColumnValuesToBeBetween", column="estimate", **finite)
        yield check("confidence at most 1", "ColumnValuesToBeBetween", column="confidence", max_value=1)


def _missing(table: Table, rows: pa.Table) -> dict[int, str]:
    """By row, the columns that it must have and has not, by name; no number is no NaN either."""
    names: dict[int, str] = {}
    for name, column in table.columns.items():
        if column.nullable:
            continue
        for at in pc.indices_nonzero(rows[name].is_null(nan_is_null=True)).to_pylist():
            names[at] = f"{names[at]}, {name}" if at in names else name
    return names


def _frame(table: Table, rows: pa.Table, missing: Mapping[int, str]) -> pd.DataFrame:
    """What the checks look at, and no more: neither payloads nor long names become Python objects.

    Great Expectations copies the frame for most checks, so what is not looked at takes a byte a row.
    """
    import pandas as pd

    nothing = np.zeros(rows.num_rows, np.int8)
    columns = {name: _seen(rows[name], column, name in table.key, nothing) for name, column in table.columns.items()}
    lacks = np.full(rows.num_rows, np.nan, np.float32)
    lacks[list(missing)] = 1
    return pd.DataFrame({**columns, _MISSING: lacks})


def _seen(values: pa.ChunkedArray, column: Column, in_key: bool, nothing: Any) -> Any:
    if column.among or column.kind in (Kind.LONG, Kind.DOUBLE):
        return np.full(len(values), np.nan, np.float32) if values.null_count == len(values) else values.to_pandas()
    if in_key:
        return values.combine_chunks().dictionary_encode("encode").indices.to_numpy()
    return nothing


def _findings(
    table: Table, rows: pa.Table, missing: Mapping[int, str], broken: Mapping[str, FailedCheck]
) -> Iterator[Finding]:
    known, parts = _parts(rows)
    sizes = dict(zip(known, np.bincount(parts, minlength=len(known)).tolist(), strict=True))
    sound = dict.fromkeys(known)
    for name, failed in broken.items():
        failing: dict[RowOwner, list[int]] = {}
        for row in failed.rows:
            failing.setdefault(known[parts[row]], []).append(row)
        for part, at in failing.items():
            sound.pop(part, None)
            observed = f"{len(at):,} of {sizes[part]:,} rows"
            detail = f"the first: {_describe(table, rows, at[0], missing.get(at[0]))}"
            yield Finding(part[1], name, False, failed.severity, part[0], observed=observed, detail=detail)
    for monitor, start in sound:
        observed = f"{sizes[monitor, start]:,} rows"
        yield Finding(start, f"{table.name} is well formed", True, monitor=monitor, observed=observed)


def _whole(rows: pa.Table) -> list[RowOwner]:
    """All parts that the rows belong to, where what is wrong is wrong with all of them."""
    return sorted(_parts(rows)[0]) or [("", 0)]


def _parts(rows: pa.Table) -> tuple[list[RowOwner], NDArray[np.int64]]:
    """Whose and of when rows are: the parts in the order of their first rows, and which of them each row is of."""
    monitors = pc.fill_null(_values(rows, "monitor", Kind.STRING), "")
    starts = pc.fill_null(_values(rows, "epoch_start", Kind.TIMESTAMP).cast(pa.int64()), 0)
    names, moments = (column.combine_chunks().dictionary_encode() for column in (monitors, starts))
    width = max(len(moments.dictionary), 1)
    codes = names.indices.to_numpy().astype(np.int64) * width + moments.indices.to_numpy()
    found = pa.array(codes).dictionary_encode()
    texts, times = names.dictionary.to_pylist(), moments.dictionary.to_pylist()
    parts = [(texts[code // width], times[code % width]) for code in found.dictionary.to_pylist()]
    return parts, found.indices.to_numpy().astype(np.int64)


def _values(rows: pa.Table, name: str, kind: Kind) -> pa.ChunkedArray:
    """A column, nulls where there is no such column, or one of another type."""
    types = {field.type for field in rows.schema if field.name == name}
    known = types == {kind.arrow} and rows.column_names.count(name) == 1
    return rows[name] if known else pa.chunked_array([pa.nulls(rows.num_rows, kind.arrow)])


def _describe(table: Table, rows: pa.Table, at: int, missing: str | None) -> str:
    """A row as people read it: what identifies it, then its numbers."""
    numbers = [name for name, column in table.columns.items() if column.least is not None or column.among]
    numbers += [name for name in _BOUNDS if name in table.columns]
    names = dict.fromkeys([*table.key, *numbers])
    told = [f"{name} {_text(rows[name][at].as_py())}" for name in names if name not in ("monitor", "epoch_start")]
    return (f"no {missing}; " if missing else "") + ", ".join(told)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return format_time(to_microseconds(value))
    return _short(repr(value), _SHOWN) if isinstance(value, str) else str(value)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
