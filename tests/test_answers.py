"""Answers and verdicts in columns: what goes in as objects comes out as objects, and back."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts

ROWS = [
    Answer("@coordinator", 10, "x", 1, 5, 4, 6),
    Answer("@coordinator", 10, "", None, 2.5, -math.inf, math.inf, confidence=0.9, partial=True),
]
VERDICTS = [
    Verdict("a", 10, "x", "total within bounds", 5, 0, 1, kept=True),
    Verdict("a", 10, "", "probably", 5, 9, 1, kept=False, confidence=0.9),
]


@pytest.mark.parametrize(("kind", "rows"), [(Answers, ROWS), (Verdicts, VERDICTS)])
def test_rows_come_back_as_the_objects_that_they_were_made_from(kind: type[Answers], rows: list[Answer]) -> None:
    made = kind.of(rows)
    assert list(made) == rows
    assert len(made) == 2
    assert made.table.schema == kind.schema
    assert made == kind.of(iter(rows))
    assert made != kind.of(rows[:1])


def test_no_rows_have_the_same_columns() -> None:
    for made in (Answers.of(), Answers.concat([]), Answers.concat([Answers.of()]), Answers.columns(0, {**EVERY_ONE})):
        assert len(made) == 0
        assert list(made) == []
        assert made.table.schema == Answers.schema
        assert not made.any_partial
        assert len(made.as_partial()) == 0


EVERY_ONE = {"node": "n", "tick": 1, "key": "k", "rank": None, "estimate": 1.0, "low": 1.0, "high": 1.0}


def test_a_plain_value_stands_for_a_column_of_it_and_defaults_need_not_be_said() -> None:
    ticks = pa.array([1, 2, 3], pa.int32())
    made = Answers.columns(3, {**EVERY_ONE, "key": [*"abc"], "estimate": np.array([1.0, 2, 3]), "tick": ticks})
    assert list(made) == [Answer("n", at, key, None, at, 1, 1) for at, key in enumerate("abc", 1)]
    assert made.column("confidence") == [1.0] * 3
    assert made.column("partial") == [False] * 3


def test_columns_of_unlike_lengths_and_forgotten_ones_are_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        Answers.columns(3, {**EVERY_ONE, "key": ["a", "b"]})
    with pytest.raises((pa.ArrowInvalid, TypeError, KeyError)):
        Answers.columns(1, {name: value for name, value in EVERY_ONE.items() if name != "low"})


def test_parts_are_put_together_in_their_order() -> None:
    one, other = Answers.of(ROWS[:1]), Answers.of(ROWS[1:])
    assert Answers.concat([one, Answers.of(), other]) == Answers.of(ROWS)
    assert list(Answers.concat(iter([other, one]))) == ROWS[::-1]


def test_one_partial_row_is_enough_and_all_can_be_made_partial() -> None:
    assert Answers.of(ROWS).any_partial
    assert not Answers.of(ROWS[:1]).any_partial
    partial = Answers.of(ROWS).as_partial()
    assert list(partial) == [replace(row, partial=True) for row in ROWS]
    assert not Answers.of(ROWS[:1]).any_partial, "the rows that it was made from stay as they are"


def test_answers_are_no_verdicts_and_have_no_hash() -> None:
    assert Answers.of() != Verdicts.of()
    with pytest.raises(TypeError, match="unhashable"):
        hash(Answers.of())


def test_a_confidence_of_one_is_what_a_verdict_has_unless_it_says_otherwise() -> None:
    assert Verdicts.of(VERDICTS).column("confidence") == [1.0, 0.9]


def test_verdicts_that_were_broken_and_those_that_are_probable_can_be_picked_out() -> None:
    found = Verdicts.of([*VERDICTS, replace(VERDICTS[0], kept=False), replace(VERDICTS[1], kept=True)])
    assert found.where_broken().column("confidence") == [0.9, 1.0]
    assert found.where_probable().column("kept") == [False, True]
    assert len(Verdicts.of().where_broken()) == len(Verdicts.of().where_probable()) == 0
