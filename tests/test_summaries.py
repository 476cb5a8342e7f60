"""Measures, cells, rows, and the name under which a summary of a source's events is found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.summaries import Cell, Intake, Measure, Rows, Summary
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.synopses.counts import Counts

MEASURES = {
    "count": Measure(), " count ": Measure(),
    "sum(value)": Measure("sum", "value"), "last(pm25)": Measure("last", "pm25"), "mean(x)": Measure("mean", "x"),
    "min(x)": Measure("min", "x"), "max(x)": Measure("max", "x"), "count(x)": Measure("count", "x"),
    " sum ( value ) ": Measure("sum", "value"), "sum(two words)": Measure("sum", "two words"),
    "sum(`PM2.5 (µg)`)": Measure("sum", "PM2.5 (µg)"), "max( `a b` )": Measure("max", "a b"),
}  # fmt: skip


@pytest.mark.parametrize("text", MEASURES)
def test_a_measure_is_count_or_a_reduction_with_its_column(text: str) -> None:
    assert Measure.parse(text) == MEASURES[text]


@pytest.mark.parametrize(
    "text",
    [
        "", "sum", "sum()", "sum( )", "count()", "median(x)", "SUM(x)", "sum(x) + 1", "sum(x", "x", "last",
        "sum(a(b))", "sum(`a`b)", "sum(``)", "sum(x))", "1", "sum(x);",
    ],
)  # fmt: skip
def test_what_is_no_measure_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a measure; write count, sum\(value\), last\(value\)"):
        Measure.parse(text)


@given(
    st.text(st.characters(exclude_characters="`"), min_size=1),
    st.sampled_from(["sum", "last", "mean", "min", "max", "count"]),
)
def test_a_measure_is_read_back_from_its_own_words(column: str, reduction: str) -> None:
    measure = Measure(reduction, column)  # type: ignore[arg-type]
    assert Measure.parse(str(measure)) == measure


def test_a_measure_is_said_as_it_is_written() -> None:
    assert [str(Measure.parse(text)) for text in ("count", "sum(value)", "last( pm25 )")] == [
        "count", "sum(value)", "last(pm25)",
    ]  # fmt: skip


def test_ticks_are_counted_from_the_origin_on() -> None:
    cell = Cell("a", epoch=3, start=130, end=160, tick=10)
    assert (cell.ticks, cell.first_tick) == (3, 9)
    assert Cell("a", 4, 160, 190, 10).first_tick == cell.first_tick + cell.ticks


CELL = Cell("a", 0, 0, 10, 5)


@dataclass(frozen=True)
class Ticked(Summary):
    """A summary of everything that a name depends on."""

    size: int = 3
    reduced: Measure = Measure()  # noqa: RUF009  # it is frozen
    synopsis: ClassVar[type[Synopsis]] = Counts

    @property
    def keys(self) -> tuple[str, ...]:
        return ("tick", "item", "by")

    @property
    def measure(self) -> Measure:
        return self.reduced

    def build(self, cell: Cell, rows: Rows) -> Synopsis:
        return Counts.of(rows.keys["item"].to_pylist())


@dataclass(frozen=True)
class Unticked(Ticked):
    @property
    def keys(self) -> tuple[str, ...]:
        return ("item", "by")


@dataclass(frozen=True)
class Hashed(Ticked):
    hashed = True


def test_no_rows_have_every_key_in_its_type() -> None:
    none = Rows.none(Ticked())
    assert len(none) == 0
    assert {name: column.type for name, column in none.keys.items()} == {
        "tick": pa.int64(), "item": pa.string(), "by": pa.string(),
    }  # fmt: skip
    assert Rows.none(Hashed()).keys["item"].type == pa.uint64()
    assert Rows.none(Hashed()).keys["tick"].type == pa.int64()
    assert list(Ticked().empty(CELL)) == []  # type: ignore[call-overload]


def test_one_part_is_merged_to_itself_and_several_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    summary, one, other = ItemCounts(), Counts.of(["x"]), Counts.of(["x", "y"])
    assert summary.merge([one]) is one
    merged = summary.merge([one, other, one])
    assert list(merged) == [("x", 3), ("y", 1)]  # type: ignore[call-overload]
    assert (list(one), list(other)) == ([("x", 1)], [("x", 1), ("y", 1)]), "the parts stay as they are"


KEYS = {"item": "object", "by": "country"}
INTAKE = Intake(Ticked(), KEYS, tick=5, where="size > 0")


def test_equal_wishes_have_one_name_however_they_are_put() -> None:
    again = Intake(Ticked(3, Measure.parse("count")), dict(reversed(KEYS.items())), 5, "size > 0")
    assert INTAKE.name == again.name
    assert INTAKE.name.startswith("counts-")


def same_but(**changed: object) -> Intake:
    return replace(INTAKE, **changed)  # type: ignore[arg-type]


DIFFERENT: Mapping[str, Intake] = {
    "the class": same_but(summary=Unticked()),
    "another class with the same keys": same_but(summary=Hashed()),
    "a field": same_but(summary=Ticked(4)),
    "the reduction": same_but(summary=Ticked(3, Measure("sum", "value"))),
    "the reduced column": same_but(summary=Ticked(3, Measure("sum", "weight"))),
    "an expression": same_but(keys={**KEYS, "by": "city"}),
    "expressions the other way round": same_but(keys={"item": "country", "by": "object"}),
    "the tick": same_but(tick=10),
    "the condition": same_but(where="size > 1"),
    "no condition": same_but(where=""),
}


def test_unlike_wishes_never_meet() -> None:
    names = {why: intake.name for why, intake in {"as it is": INTAKE, **DIFFERENT}.items()}
    assert len(set(names.values())) == len(names), names


def test_the_tick_matters_only_where_a_summary_has_it_as_a_key() -> None:
    one, other = Intake(Unticked(), KEYS, 5), Intake(Unticked(), KEYS, 10)
    assert one.name == other.name


def test_another_version_of_the_synopsis_is_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = INTAKE.name
    monkeypatch.setattr(Counts, "VERSION", Counts.VERSION + 1)
    assert replace(INTAKE).name != before


def test_classes_of_one_name_in_two_families_have_two_names() -> None:
    def family() -> type[Summary]:
        @dataclass(frozen=True)
        class Pairs(ItemCounts):
            pass

        return Pairs

    one, other = family(), family()
    one.__module__, other.__module__ = "family.one", "family.other"
    assert Intake(one(), {"item": "x"}, 1).name != Intake(other(), {"item": "x"}, 1).name
