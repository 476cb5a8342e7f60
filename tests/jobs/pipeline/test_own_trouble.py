"""One monitor's trouble is its own: the others of its source are sealed, and the error says whose it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitoring_lib.tables import ANSWERS
from tests.jobs.pipeline.deployment import ONE_PARTITION, Deployment, Row

pytestmark = pytest.mark.spark
COUNTED = {"name": "counted", "question": "top-k", "source": "shop", "k": 3, "tolerance": 0}
SUMMED = {"name": "summed", "question": "top-k", "source": "shop", "k": 3, "tolerance": 0, "measure": "sum(value)"}
WIDE = 2**62
RUN = ("run", "--source", "shop", "--from", "2020-01-01", "--to", "2020-01-01T01:00")


def rows(**values: int) -> list[Row]:
    """At a site of each name, three rows of item x with this value."""
    return [(at, site, "x", value) for site, value in values.items() for at in range(3)]


def answers(home: Deployment, monitor: str) -> list[tuple[str, float]]:
    return sorted((row["key"], row["estimate"]) for row in home.rows(ANSWERS) if row["monitor"] == monitor)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (WIDE, f"the sum of item 'x' is {3 * WIDE}, which does not fit into 64 bits; choose a lower scale"),
        (-1, "signed"),
    ],
)
def test_a_sum_that_cannot_be_formed_stops_its_own_monitor_by_name(
    deploy: Callable[..., Deployment], value: int, why: str
) -> None:
    home = deploy(monitors=(COUNTED, SUMMED), settings=ONE_PARTITION)
    home.add_file("all.csv", rows(north=1, south=value))
    done = home.command(*RUN)
    assert done.returncode == 2, done.stderr
    assert "summed is not sealed: " in done.stderr
    assert why in done.stderr
    assert "'south'" in done.stderr
    assert "2020-01-01" in done.stderr
    assert "Traceback" not in done.stderr
    assert answers(home, "counted") == [("x", 6)]
    assert answers(home, "summed") == []


def test_a_check_that_one_monitor_asks_for_sets_the_site_aside_for_it_alone_and_its_rows_are_not_summed(
    deploy: Callable[..., Deployment],
) -> None:
    """What is wrong with values is no business of who counts rows."""
    careful = SUMMED | {"quality": {"ranges": {"value": [0, 1000]}}}
    home = deploy(monitors=(COUNTED, careful), settings=ONE_PARTITION)
    home.add_file("all.csv", rows(north=1, south=WIDE))
    done = home.command(*RUN)
    assert done.returncode == 0, done.stderr
    assert "'south' is set aside for summed" in done.stderr
    assert answers(home, "counted") == [("x", 6)]
    assert answers(home, "summed") == [("x", 3)]
    assert {(row["monitor"], row["partial"]) for row in home.rows(ANSWERS)} == {("counted", False), ("summed", True)}
