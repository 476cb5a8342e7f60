"""Digests of content: any order, any write, any clock; nothing else is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jobs.lake.content import digest_rows
from monitoring_lib.tables import ANSWERS, STATES

ROW: dict[str, Any] = {
    "monitor": "m", "method": "caching", "epoch_start": datetime(2020, 1, 1, tzinfo=UTC), "node": "n",
    "form": "base", "payload": b"p", "write": "w",
}  # fmt: skip
OTHER = ROW | {"node": "o"}


def test_the_order_of_rows_and_their_write_do_not_count() -> None:
    assert digest_rows(STATES, [ROW, OTHER]) == digest_rows(STATES, [OTHER | {"write": "x"}, ROW])


def test_every_other_column_counts() -> None:
    whole = digest_rows(STATES, [ROW])
    changes = {
        "monitor": "x", "method": "x", "epoch_start": datetime(2020, 1, 2, tzinfo=UTC), "node": "x", "form": "change",
        "payload": b"x",
    }  # fmt: skip
    assert set(changes) == set(STATES.content)
    for name, value in changes.items():
        assert digest_rows(STATES, [ROW | {name: value}]) != whole


def test_a_row_twice_is_not_a_row_once() -> None:
    assert digest_rows(STATES, [ROW, ROW]) != digest_rows(STATES, [ROW])


def test_the_write_of_an_answer_is_no_part_of_what_it_says() -> None:
    assert "write" not in ANSWERS.content
    assert "revision" in ANSWERS.content
