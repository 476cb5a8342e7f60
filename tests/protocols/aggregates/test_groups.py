"""Source aggregation: one filter a query and site. The paper's Appendix G first, then the promise."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from monitoring_lib.errors import DataError
from tests.protocols.aggregates.driver import (
    BY_NAME,
    Network,
    Series,
    bounds_sent,
    cut,
    entries,
    method,
    walks,
)
from tests.protocols.aggregates.test_changes import AWAY, CHANGED, assert_sound, changing
from tests.protocols.aggregates.test_promise import OVERLAPPING, SIGNED, assert_kept, many

TICKS, EPOCHS = 20, 8
every_method = pytest.mark.parametrize("name", BY_NAME)


def costs(series: Series, first: int, second: int, name: str = "waterfill", **options: Any) -> list[int]:
    """Entries of Appendix G's two sums over three values at one source, without and with aggregation."""
    asked = [
        {"name": "one", "ask": "sum", "objects": ["a/0", "a/1"], "precision": first},
        {"name": "two", "ask": "sum", "objects": ["a/0", "a/2"], "precision": second},
    ]
    found = []
    for aggregate in (False, True):
        network = Network(method(asked, TICKS, name, aggregate=aggregate, publish="epoch", **options))
        found.append(entries([network.step(cut(series, epoch, TICKS)) for epoch in range(40)]))
    return found


def walk(rng: Random, step: int) -> list[int | None]:
    value, found = 0, []
    for _ in range(40 * TICKS):
        value += rng.choice([-step, step])
        found.append(value)
    return found


def test_it_pays_where_precisions_are_very_unequal_and_not_where_one_value_of_both_queries_moves() -> None:
    rng = Random(1)
    alone, together = costs({f"a/{number}": walk(rng, 10) for number in range(3)}, 100_000, 60)
    assert together < 0.8 * alone
    still: list[int | None] = [0] * 40 * TICKS
    steps = {"a/0": 10, "a/1": 0, "a/2": 0}
    alone, together = costs({"a/0": walk(rng, 10), "a/1": still, "a/2": still}, 60, 60, "optimised", steps=steps)
    assert alone < together


@every_method
@pytest.mark.parametrize("queries", [OVERLAPPING, SIGNED, many(30)], ids=["overlapping", "signed", "many"])
@pytest.mark.parametrize("aggregate", [True, ["s0", "s3"]], ids=["all", "some"])
def test_every_row_keeps_its_promise(name: str, queries: Any, aggregate: Any) -> None:
    rng = Random(f"{name}{len(queries)}{aggregate}")
    filter_ = rng.choice(["runs", "recentre"])
    series = walks(rng, 12, TICKS * EPOCHS)
    network = Network(method(queries, TICKS, name, filter=filter_, aggregate=aggregate))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert_kept(network, steps, series)


@every_method
def test_queries_change_and_sites_are_missing(name: str) -> None:
    assert_sound(changing(name, CHANGED, AWAY, aggregate=["s0", "s1"]), epochs=12)


def test_only_groups_are_heard_of_after_the_first_readings() -> None:
    network = Network(method([{"name": "s", "ask": "sum", "precision": 0}], 2, aggregate=True, publish="epoch"))
    first = network.step({"a/1": [1, 1], "a/2": [5, 5]})
    assert bounds_sent([first]) == 3
    assert bounds_sent([network.step({"a/1": [2, 2], "a/2": [4, 4]})]) == 0  # their sum stands still
    later = network.step({"a/1": [2, 3], "a/2": [4, 4], "a/3": [None, -1]})
    assert bounds_sent([later]) == 1  # the new object's first reading; the sum is 6 as before
    assert next(iter(later.settled.answers)).estimate == 6


def test_a_name_that_could_be_taken_for_a_query_is_refused_where_a_site_aggregates() -> None:
    asked = [{"name": "s", "ask": "sum", "precision": 0}]
    series: Series = {"a/1": [1], "\0s\0a": [2]}
    network = Network(method(asked, 1, aggregate=True))
    with pytest.raises(DataError, match="begins with a NUL character"):
        network.step(series)
    assert Network(method(asked, 1)).step(series).settled.answers.column("low") == [3.0]
