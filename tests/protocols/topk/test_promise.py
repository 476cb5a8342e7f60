"""The promise of every method against exact sums, over made-up streams of every kind.

A scenario has jumps, ties, silent epochs, items that vanish and return, more members asked for than items there
are, a single site, sites that join, go missing, leave; growing, with a reset, sliding; signed, smallest. Every
third scenario is stored and read back after every epoch.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from monitoring_lib.epochs import Window
from monitoring_lib.protocols import methods
from monitoring_lib.protocols.topk.family import TopKMethod
from tests.protocols.topk.driver import Run, ask_for, draw_scenario, run_scenario

pytestmark = pytest.mark.slow

SCENARIOS = 100
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "caching": [{}],
    "requery": [{}],
    "margins": [
        {},
        {"untracked": "0.9", "granted": "0.9"},
        {"untracked": "0.2", "granted": 0},
        {"untracked": 0, "granted": "0.5"},
    ],
    "constraints": [
        {},
        {"joint": True},
        {"long_list": 1},
        {"long_list": None, "strict_validation": True},
        {"held_back": "0.9", "split": "proportional"},
        {"held_back": 0, "split": "even", "joint": True, "long_list": 2},
        {"relief": 1},
        {"relief": 0, "long_list": 2},
    ],
}
FAMILY = {name: method for (question, name), method in methods().items() if question == "top-k"}


def test_every_method_of_the_family_is_tried() -> None:
    assert OPTIONS.keys() == FAMILY.keys()


@pytest.mark.parametrize("lot", range(2))
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_every_set_is_valid_and_every_total_within_its_bounds(name: str, lot: int) -> None:
    method = FAMILY[name]
    assert issubclass(method, TopKMethod)
    for number in range(SCENARIOS):
        seed = 1000 * lot + number
        chance = Random(seed)
        scenario, options = draw_scenario(chance), chance.choice(OPTIONS[name])
        try:
            run_scenario(scenario, method, options, restored=number % 3 == 0)
        except Exception as error:
            error.add_note(f"scenario {seed} of {name} with {options}: {scenario.params}, {scenario.window}")
            raise


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_answer_is_partial_only_while_a_site_is_missing(name: str) -> None:
    partial = 0
    for seed in range(60):
        scenario = draw_scenario(Random(seed + 77_000))
        run = run_scenario(scenario, FAMILY[name])  # type: ignore[arg-type]
        for settled, (_, missing, _) in zip(run.settled, scenario.epochs, strict=True):
            flags = set(settled.answers.column("partial"))
            assert flags <= ({True} if scenario.window.length else {False, True}) if missing else flags <= {False}
            partial += True in flags
    if name != "caching":  # whose copies are as close as ever while a site is missing
        assert partial


@pytest.mark.parametrize("tolerance", [0, 7])
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_sites_may_be_none_at_first_and_none_in_the_end(name: str, tolerance: int) -> None:
    method = FAMILY[name]
    run = Run(method(ask_for(method, k=2, tolerance=tolerance)))  # type: ignore[arg-type]
    assert len(run.step({}, sites=())) == 0
    run.step({"a": {"x": 30, "y": 20, "z": 1}})
    assert [row.key for row in run.settled[-1].answers] == ["x", "y"]
    run.step({"a": {}, "b": {"z": 40}})
    assert {row.key for row in run.settled[-1].answers} == {"x", "z"}
    assert all(row.high == 0 for row in run.step({}, sites=()))


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_as_the_largest_only_sums_above_zero_are_published(name: str) -> None:
    """Sums that fall back to 0 or below while few items are left: in windows, by corrections, by signed values."""
    fallen = 0
    for seed in range(150):
        chance = Random(seed + 91_000)
        scenario, options = draw_scenario(chance), chance.choice(OPTIONS[name])
        scenario.params |= {
            "order": "largest",
            "k": chance.choice([2, 5, 40]),
            "tolerance": chance.choice([0, 0, 4, 30]),
        }
        method = FAMILY[name]
        run = Run(method(ask_for(method, scenario.window, options=options, **scenario.params)))  # type: ignore[arg-type]
        exact = name in ("constraints", "requery") or scenario.params["tolerance"] == 0
        known: set[str] = set()
        for events, missing, roster in scenario.epochs:
            rows = [row for row in run.step(events, missing, roster) if row.rank is not None]
            sums = run.sums
            assert all(row.estimate > 0 for row in rows), (seed, options)
            if not missing:
                lowest = 0 if exact else -scenario.params["tolerance"]
                assert all(sums.get(row.key, 0) > lowest for row in rows), (seed, options)
            known.update(item for happened in events.values() for item in happened)
            fallen += sum(sums.get(item, 0) <= 0 for item in known)
    assert fallen > 1000


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_item_that_has_left_the_window_is_not_published(name: str) -> None:
    method = FAMILY[name]
    run = Run(method(ask_for(method, Window(length=2), k=3)))  # type: ignore[arg-type]
    run.step({"a": {"x": 5, "y": 9}, "b": {"y": 1}})
    run.step({"a": {"y": 2}})
    run.step({"b": {"z": 1}})
    assert [(row.key, row.estimate) for row in run.settled[-1].answers] == [("y", 2), ("z", 1)]
