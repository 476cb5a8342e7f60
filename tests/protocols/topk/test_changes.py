"""A chain goes on when k, the tolerance or the options change between epochs; every answer stays valid."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask
from monitoring_lib.protocols import methods
from monitoring_lib.protocols.topk.question import TopKParams
from tests.protocols.topk.driver import Run, ask_for, draw_scenario
from tests.protocols.topk.test_promise import OPTIONS

pytestmark = pytest.mark.slow

FAMILY: dict[str, Any] = {name: kind for (question, name), kind in methods().items() if question == "top-k"}


@pytest.mark.parametrize("name", sorted(FAMILY))
def test_answers_stay_valid_when_k_and_the_tolerance_change(name: str) -> None:
    kind = FAMILY[name]
    for seed in range(80):
        chance = Random(seed + 40_000)
        scenario = draw_scenario(chance)
        run = Run(kind(ask_for(kind, scenario.window, **scenario.params)))
        for events, missing, roster in scenario.epochs:
            if chance.random() < 0.4:
                params = {
                    **scenario.params,
                    "k": chance.choice([1, 2, 3, 6]),
                    "tolerance": chance.choice([0, 1, 9, 500]),
                }
                run.change(kind(ask_for(kind, scenario.window, **params)))
            try:
                run.step(events, missing, roster)
            except Exception as error:
                error.add_note(f"scenario {seed} of {name}: {scenario.params}, {scenario.window}")
                raise


@pytest.mark.parametrize("name", ["constraints", "margins"])
def test_answers_stay_valid_when_options_change(name: str) -> None:
    kind, changed = FAMILY[name], 0
    for seed in range(60):
        chance = Random(seed + 60_000)
        scenario = draw_scenario(chance)
        run = Run(kind(ask_for(kind, scenario.window, **scenario.params)))
        for events, missing, roster in scenario.epochs:
            now = kind(ask_for(kind, scenario.window, options=chance.choice(OPTIONS[name]), **scenario.params))
            if now.continues(run.method.ask):
                run.change(now)
                changed += 1
            try:
                run.step(events, missing, roster)
            except Exception as error:
                error.add_note(
                    f"scenario {seed} of {name} with {now.ask.options}: {scenario.params}, {scenario.window}"
                )
                raise
    assert changed


@pytest.mark.parametrize("name", sorted(FAMILY))
def test_a_chain_goes_on_unless_what_is_summed_has_changed(name: str) -> None:
    kind = FAMILY[name]
    before = Ask(TopKParams(k=3, tolerance=5), kind.Options(), Window(length=4), 10)

    def goes_on(window: Window | None = None, scale: int = 10, **params: Any) -> bool:
        now = Ask(TopKParams(**{"k": 3, "tolerance": 5, **params}), kind.Options(), window or Window(length=4), scale)
        return bool(kind(now).continues(before))

    assert goes_on()
    assert goes_on(k=9, tolerance=0)
    assert not goes_on(window=Window())
    assert not goes_on(window=Window(length=5))
    assert not goes_on(scale=1)
    assert not goes_on(signed=True)
    assert not goes_on(order="smallest")


@pytest.mark.parametrize("name", sorted(FAMILY))
def test_a_tolerance_that_shrinks_is_kept_at_once(name: str) -> None:
    kind = FAMILY[name]
    run = Run(kind(ask_for(kind, k=1, tolerance=100)))
    run.step({"a": {"x": 50, "y": 10}, "b": {"x": 50, "y": 60}})
    run.step({"a": {"y": 40}, "b": {"y": 9}})  # y leads by 19
    run.change(kind(ask_for(kind, k=1, tolerance=0)))
    run.step({"a": {}, "b": {}})
    assert [row.key for row in run.settled[-1].answers] == ["y"]
