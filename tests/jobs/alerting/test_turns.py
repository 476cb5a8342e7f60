"""One alert when something opens, one when it closes, reminders in between, whatever is run twice or late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.alerting.rules import open_in
from jobs.alerting.troubles import Look, Trouble
from jobs.alerting.turns import AlertHistory, AlertTurns

HOUR = 3_600_000_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def silent(epoch: int, site: str = "south") -> Trouble:
    return Trouble("site silent", epoch * HOUR, "critical", "freshness does not hold", site=site)


def look(epoch: int, *troubles: Trouble) -> Look:
    return Look(epoch * HOUR, ("site silent",), list(troubles))


class Book:
    """The table of alerts, run after run."""

    def __init__(self, remind: timedelta = timedelta(0)) -> None:
        self.rows: list[dict[str, Any]] = []
        self.remind = remind // timedelta(microseconds=1)

    def run(self, *looks: Look, at: datetime = NOW) -> list[str]:
        turns = AlertTurns("shop", AlertHistory.of(self.rows), ["log"], self.remind, "write", at)
        for one in looks:
            turns.take(one)
        turns.remind_of(looks)
        self.rows += turns.rows
        return [row["state"] for row in turns.rows]


def test_a_site_silent_for_a_hundred_epochs_gives_one_alert_reminders_as_set_and_one_all_clear() -> None:
    book = Book(remind=timedelta(days=1))
    told: list[str] = []
    for epoch in range(100):
        told += book.run(look(epoch, silent(epoch)), at=NOW + timedelta(hours=epoch))
    told += book.run(look(100), at=NOW + timedelta(hours=100))
    told += book.run(look(101), at=NOW + timedelta(hours=101))
    assert told == ["opened", *["reminded"] * 4, "closed"]


def test_a_range_of_epochs_tells_what_its_epochs_would_one_after_the_other() -> None:
    epochs = [look(0), look(1, silent(1)), look(2, silent(2)), look(3), look(4, silent(4))]
    whole, single = Book(), Book()
    assert whole.run(*epochs) == [state for one in epochs for state in single.run(one)]
    assert [row["digest"] for row in whole.rows] == [row["digest"] for row in single.rows]


def test_the_same_run_again_tells_nothing() -> None:
    book, epochs = Book(), [look(1, silent(1)), look(2)]
    assert book.run(*epochs) == ["opened", "closed"]
    assert book.run(*epochs) == []


def test_an_older_epoch_that_is_revised_neither_closes_nor_opens_what_is_open_now() -> None:
    book = Book()
    book.run(look(8, silent(8)))
    assert book.run(look(3), look(4, silent(4, "north"))) == ["opened"]
    assert book.run(look(9, silent(9))) == ["closed"]  # of the other site


def test_kinds_and_monitors_that_were_not_looked_at_stay_as_they_are() -> None:
    book = Book()
    rule = Trouble("rule", HOUR, "warning", "high > 9", monitor="busiest", about="high > 9")
    book.run(look(1, silent(1)), Look(HOUR, ("rule",), [rule], ["busiest"]))
    assert book.run(Look(2 * HOUR, ("rule",), [], ["other"])) == []
    assert book.run(Look(2 * HOUR, ("rule",), [], ["busiest"])) == ["closed"]


def test_what_opens_again_is_told_again() -> None:
    book = Book()
    stale = Look(None, ("chain stale",), [Trouble("chain stale", 0, "warning", "the chain is stale", monitor="m")])
    over = Look(None, ("chain stale",), [])
    assert [book.run(one) for one in (stale, stale, over, over, stale)] == [["opened"], [], ["closed"], [], ["opened"]]
    assert len({row["digest"] for row in book.rows}) == 3


@pytest.mark.parametrize(
    ("lasting", "matched", "opened"),
    [
        (1, "0110", [1, 2]),
        (2, "0101101", [4, 5, 6]),
        (2, "11011001", [1, 2, 3, 4, 5]),
        (3, "1101110", [5, 6]),
    ],
)
def test_a_rule_is_entered_and_left_after_so_many_epochs_in_a_row(
    lasting: int, matched: str, opened: list[int]
) -> None:
    truth = {epoch: letter == "1" for epoch, letter in enumerate(matched)}
    assert open_in(lasting, truth, 0, False) == opened
    for first in range(1, len(matched)):  # epoch by epoch gives the same
        before = first - 1 in opened
        assert open_in(lasting, truth, first, before) == [epoch for epoch in opened if epoch >= first]
