"""Epochs one after the other: who is there, what arrives and leaves, and what the judge says."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from monitoring_lib.epochs import Clock, Window
from monitoring_lib.errors import DataError
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols import methods
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.replay import History, Replay, Roster
from monitoring_lib.synopses.counts import Counts
from tests.laws.questions import makers
from tests.laws.toys import TOYS

CLOCK = Clock(1_000, 10)
GROWING = Window()


def caching(window: Window = GROWING, k: int = 2, tolerance: int = 0) -> Caching:
    return Caching(Ask(TopKParams(k=k, tolerance=Decimal(tolerance)), Caching.Options(), window))


def counts(**sums: int) -> Counts:
    return Counts.of_pairs(sums.items())


def test_a_site_joins_the_roster_with_its_first_events_and_stays():
    replay = Replay(CLOCK, [caching()])
    rosters = [
        replay.step(epoch, synopses)[0].moment.sites
        for epoch, synopses in enumerate([{"b": counts(x=1)}, {}, {"a": counts(x=1)}, {"c": counts(y=2)}])
    ]
    assert rosters == [("b",), ("b",), ("a", "b"), ("a", "b", "c")]


def test_sites_that_the_source_lists_are_there_from_the_first_epoch():
    replay = Replay(CLOCK, [caching()], sites=["z", "a"])
    assert replay.step(0, {"m": counts(x=1)})[0].moment.sites == ("a", "m", "z")


def test_a_site_whose_name_looks_like_a_node_of_the_network_is_still_a_site():
    roster = Roster()
    assert roster.admit(["@coordinator", "plain"])
    assert roster.nodes == ("@@coordinator", "plain")
    assert not roster.admit(["@coordinator"])


def test_an_epoch_without_events_happens_and_changes_nothing_that_grows():
    replay = Replay(CLOCK, [caching()])
    first = replay.step(0, {"a": counts(x=3, y=1)})[0]
    second = replay.step(1, {})[0]
    assert second.settled.messages == []
    assert [(row.key, row.estimate) for row in second.settled.answers] == [("x", 3.0), ("y", 1.0)]
    assert second.moment.start == first.moment.end == CLOCK.start_of(1)
    assert all(verdict.kept for verdict in second.verdicts)


def test_a_sliding_window_gives_back_what_has_left_it():
    replay = Replay(CLOCK, [caching(Window(2))])
    steps = [replay.step(epoch, {"a": counts(**{f"i{epoch}": 5})})[0] for epoch in range(4)]
    assert [sorted(row.key for row in step.settled.answers) for step in steps] == [
        ["i0"], ["i0", "i1"], ["i1", "i2"], ["i2", "i3"],
    ]  # fmt: skip


def test_a_reset_forgets_everything_before_it():
    replay = Replay(CLOCK, [caching(Window(reset=2))])
    steps = [replay.step(epoch, {"a": counts(**{f"i{epoch}": 5})})[0] for epoch in range(3)]
    assert [row.key for row in steps[2].settled.answers] == ["i2"]


def test_what_leaves_while_a_site_is_missing_leaves_when_it_is_back():
    history = History(Window(2))
    assert history.observe(0, {"a": counts(x=1)}, ["a"]) == ({"a": counts(x=1)}, {})
    assert history.observe(1, {"a": counts(x=2)}, ["a"])[1] == {}
    assert history.observe(2, {}, []) == ({}, {})
    assert history.observe(3, {}, []) == ({}, {})
    arriving, expiring = history.observe(4, {"a": counts(x=4)}, ["a"])
    assert arriving == {"a": counts(x=4)}
    assert list(expiring["a"]) == [("x", 3)]


def test_what_a_missing_site_counted_neither_arrives_nor_leaves():
    replay = Replay(CLOCK, [caching(Window(2))])
    replay.step(0, {"a": counts(x=1), "b": counts(y=1)})
    absent = replay.step(1, {"a": counts(x=100), "b": counts(y=1)}, missing=["a"])[0]
    assert absent.moment.missing == {"a"}
    assert absent.moment.sites == ("a", "b")
    for epoch in range(2, 5):
        step = replay.step(epoch, {"a": counts(x=1), "b": counts(y=1)})[0]
        assert all(verdict.kept for verdict in step.verdicts)
        assert max(row.high for row in step.settled.answers) <= 2


@pytest.mark.parametrize("window", [Window(), Window(3), Window(reset=4)])
@pytest.mark.parametrize("tolerance", [0, 6])
def test_every_top_k_method_keeps_its_promise_beside_the_others(window: Window, tolerance: int):
    kinds = [kind for (question, _), kind in sorted(methods().items()) if question == "top-k"]
    ask = TopKParams(k=3, tolerance=Decimal(tolerance))
    replay = Replay(CLOCK, [kind(Ask(ask, kind.Options(), window)) for kind in kinds])
    rng = np.random.default_rng(5)
    past: list[dict[str, Counter[str]]] = []
    for epoch in range(25):
        events = {
            f"s{site}": Counter(f"i{item}" for item in rng.zipf(1.4, 20) % 15)
            for site in range(4)
            if rng.random() < 0.8
        }
        past.append(events)
        steps = replay.step(epoch, {site: Counts.of_pairs(found.items()) for site, found in events.items()})
        assert [step.method for step in steps] == [kind.name for kind in kinds]
        exact: Counter[str] = Counter()
        for member in window.members(epoch):
            for found in past[member].values():
                exact.update(found)
        for step in steps:
            inside = {row.key for row in step.settled.answers}
            worst = min((exact[key] for key in inside), default=0) if len(inside) == 3 else 0
            assert all(total <= worst + tolerance for item, total in exact.items() if item not in inside)
            assert all(row.low <= exact[row.key] <= row.high for row in step.settled.answers)
            assert all(verdict.kept for verdict in step.verdicts), step.method


def test_a_method_says_the_same_alone_and_beside_another():
    def run(running: list[Method]) -> list[tuple[object, ...]]:
        replay, rng = Replay(CLOCK, running), np.random.default_rng(1)
        found: list[tuple[object, ...]] = []
        for epoch in range(8):
            synopses = {f"s{site}": counts(x=int(rng.integers(1, 9)), y=2) for site in range(3)}
            step = next(step for step in replay.step(epoch, synopses) if step.method == "caching")
            found.append((step.settled, step.verdicts))
        return found

    others = [kind for (question, name), kind in methods().items() if question == "top-k" and name != "caching"]
    ask = caching().ask
    assert run([caching()]) == run([*(kind(Ask(ask.params, kind.Options())) for kind in others), caching()])


@pytest.mark.parametrize("kind", TOYS)
@pytest.mark.parametrize("seed", range(4))
def test_a_mesh_and_a_tree_are_driven_and_judged_too(kind: type[Method], seed: int):
    maker, rng = makers()[kind.question.name], Random(seed)
    params, window, scale = maker.monitor(rng)
    method = kind(Ask(params, kind.Options(), window, scale))
    replay = Replay(CLOCK, [method])
    for epoch in range(12):
        sites = [f"s{site}" for site in range(9) if site <= epoch + 3]
        start, end = CLOCK.start_of(epoch), CLOCK.end_of(epoch)
        synopses = {site: maker.synopsis(rng, method.ask, site, start, end) for site in sites if rng.random() < 0.7}
        step = replay.step(epoch, synopses)[0]
        certain = {(row.node, row.tick, row.key) for row in step.settled.answers if row.confidence == 1}
        assert certain
        assert all(verdict.kept for verdict in step.verdicts if (verdict.node, verdict.tick, verdict.key) in certain)


def test_a_sum_that_falls_below_zero_unannounced_is_an_error_not_an_answer():
    replay = Replay(CLOCK, [caching()])
    replay.step(0, {"a": counts(x=1)})
    with pytest.raises(DataError, match="signed"):
        replay.step(1, {"a": counts(x=-5)})
