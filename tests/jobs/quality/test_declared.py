"""Structural checks: good rows of every table pass, each kind of bad row fails and names its part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from jobs.quality import check_rows
from jobs.quality.findings import Finding
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import ANSWERS, DRAFTS, LANDINGS, MESSAGES, TABLES, Column, Kind, Table

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
ODD = 'it\'s "odd"\n東京 $HOME'


def value_of(name: str, column: Column, at: int) -> Any:
    """A value that the declaration allows, another one for each row."""
    values = {
        Kind.STRING: f"{name} {at}", Kind.LONG: at + 1, Kind.DOUBLE: 0.5, Kind.BOOLEAN: True,
        Kind.TIMESTAMP: MIDNIGHT, Kind.DATE: date(2026, 3, 1), Kind.BINARY: b"\x00", Kind.STRINGS: [],
        Kind.TEXTS: {}, Kind.NUMBERS: {"a": 1},
    }  # fmt: skip
    return column.among[0] if column.among else values[column.kind]


def good(table: Table, rows: int = 3, **fixed: Any) -> list[dict[str, Any]]:
    return [{name: value_of(name, column, at) for name, column in table.columns.items()} | fixed for at in range(rows)]


def arrow(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([field.with_nullable(True) for field in table.schema]))


def check(table: Table, rows: list[dict[str, Any]]) -> list[Finding]:
    return check_rows(table, arrow(table, rows))


def failed(findings: list[Finding]) -> set[str]:
    return {finding.expectation for finding in findings if not finding.success}


every_table = pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
answer_tables = pytest.mark.parametrize("table", [ANSWERS, DRAFTS], ids=lambda table: table.name)


@every_table
def test_good_rows_are_well_formed(table: Table) -> None:
    findings = check(table, good(table))
    assert findings
    assert all(finding.success for finding in findings)
    assert {finding.expectation for finding in findings} == {f"{table.name} is well formed"}


def broken_rows(table: Table) -> Iterator[tuple[str, str, Any]]:
    for name, column in table.columns.items():
        if not column.nullable:
            yield "no missing values", name, None
        if column.kind is Kind.DOUBLE:
            yield "no missing values", name, math.nan
        if column.least is not None:
            yield f"{name} at least {column.least:g}", name, int(column.least) - 1
        if column.among:
            yield f"{name} among {', '.join(column.among)}", name, ODD


@every_table
def test_each_kind_of_bad_row_fails_its_own_check_and_no_other(table: Table) -> None:
    for check_name, column, value in broken_rows(table):
        rows = good(table)
        rows[1][column] = value
        findings = check(table, rows)
        assert failed(findings) == {f"{table.name}: {check_name}"}, (column, value)
        bad = next(finding for finding in findings if not finding.success)
        assert bad.severity == "critical"
        assert (f"no {column};" in bad.detail) == (check_name == "no missing values")


@every_table
def test_a_key_that_comes_twice_fails(table: Table) -> None:
    rows = good(table)
    rows[2] |= {name: rows[0][name] for name in table.key}
    assert failed(check(table, rows)) == {f"{table.name}: key is unique"}


@every_table
def test_keys_that_differ_in_any_one_column_are_unique(table: Table) -> None:
    for name in table.key:
        rows = good(table, 1) * 2
        kind = table.columns[name].kind
        other = MIDNIGHT + timedelta(hours=1) if kind is Kind.TIMESTAMP else value_of(name, table.columns[name], 7)
        if other != rows[0][name]:
            assert not failed(check(table, [rows[0], rows[1] | {name: other}])), name


@every_table
def test_columns_that_are_missing_renamed_or_out_of_order_fail(table: Table) -> None:
    rows = arrow(table, good(table))
    names = rows.column_names
    for wrong in (
        rows.select(names[:-1]), rows.select(names[::-1]), rows.rename_columns([*names[:-1], ODD]),
        rows.append_column(names[0], rows[names[0]]), rows.slice(0, 0).select(names[1:]),
    ):  # fmt: skip
        assert failed(check_rows(table, wrong)) == {f"{table.name}: columns in order"}


def test_a_column_of_another_type_fails_but_another_spelling_of_the_type_does_not() -> None:
    rows = arrow(MESSAGES, good(MESSAGES, monitor="m"))
    at = rows.schema.get_field_index("bytes")
    texts = check_rows(MESSAGES, rows.set_column(at, "bytes", pa.array(["x"] * 3)))
    assert failed(texts) == {"messages: columns of the declared types"}
    assert [(one.monitor, one.epoch_start) for one in texts] == [("m", to_microseconds(MIDNIGHT))]
    large = rows.set_column(0, "monitor", rows["monitor"].cast(pa.large_string()))
    assert not failed(check_rows(MESSAGES, large))


@answer_tables
@pytest.mark.parametrize(
    ("low", "estimate", "high", "confidence", "wrong"),
    [
        (1, 2, 3, 1, set()),
        (2, 2, 2, 0, set()),
        (-math.inf, 2, math.inf, 1, set()),
        (2.5, 2, 3, 1, {"low <= estimate"}),
        (1, 3.5, 3, 1, {"estimate <= high"}),
        (math.inf, 2, math.inf, 1, {"low <= estimate"}),
        (1, math.inf, math.inf, 1, {"estimate is finite"}),
        (-math.inf, -math.inf, 3, 1, {"estimate is finite"}),
        (1, 2, 3, 1.01, {"confidence at most 1"}),
        (1, 2, 3, -0.01, {"confidence at least 0"}),
        (math.nan, 2, math.nan, 1, {"no missing values"}),
    ],
)
def test_an_answer_lies_between_its_bounds(
    table: Table, low: float, estimate: float, high: float, confidence: float, wrong: set[str]
) -> None:
    rows = good(table, low=low, estimate=estimate, high=high, confidence=confidence)
    assert failed(check(table, rows)) == {f"{table.name}: {name}" for name in wrong}


def test_failures_are_told_of_the_monitor_and_epoch_whose_rows_they_are() -> None:
    later = MIDNIGHT + timedelta(hours=1)
    rows = [
        *good(DRAFTS, 10, monitor="sound"), *good(DRAFTS, 10, monitor="broken"),
        *good(DRAFTS, 10, monitor="broken", epoch_start=later),
    ]  # fmt: skip
    rows[22] |= {"low": 7.0, "key": ODD * 1_000}
    rows[23] |= {"low": 8.0}
    findings = {(one.monitor, one.epoch_start, one.expectation): one for one in check(DRAFTS, rows)}
    midnight, hour_later = to_microseconds(MIDNIGHT), to_microseconds(later)
    assert set(findings) == {
        ("sound", midnight, "drafts is well formed"), ("broken", midnight, "drafts is well formed"),
        ("broken", hour_later, "drafts: low <= estimate"),
    }  # fmt: skip
    told = findings["broken", hour_later, "drafts: low <= estimate"]
    assert told.observed == "2 of 10 rows"
    assert "low 7.0, estimate 0.5, high 0.5" in told.detail
    assert "tick 2026-03-01, " in told.detail
    assert len(told.detail) < 400


def test_a_row_of_nobody_knows_when_is_told_of_the_source_as_a_whole() -> None:
    rows = good(DRAFTS, monitor="m")
    rows[0] |= {"monitor": None, "epoch_start": None}
    findings = check(DRAFTS, rows)
    assert {(one.monitor, one.epoch_start, one.success) for one in findings} == {
        ("", 0, False), ("m", to_microseconds(MIDNIGHT), True),
    }  # fmt: skip
    assert "no monitor, epoch_start;" in findings[0].detail


def test_no_rows_need_no_finding() -> None:
    assert check(ANSWERS, []) == []


def test_a_table_without_monitors_is_told_of_the_source() -> None:
    findings = check(LANDINGS, good(LANDINGS))
    assert [(one.monitor, one.epoch_start, one.observed) for one in findings] == [("", 0, "3 rows")]
