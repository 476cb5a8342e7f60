"""TOPiCo: every site ends with the exact top k, after at most three lists, and stops earlier where that is proved."""

from __future__ import annotations

import lzma
import math
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from monitoring_lib.codec import decode
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.errors import DataError
from monitoring_lib.protocols.top_k_everywhere.methods import FullLists, Topico
from monitoring_lib.protocols.top_k_everywhere.topico.letters import Candidates
from monitoring_lib.replay import Replay
from monitoring_lib.synopses.counts import Counts
from tests.protocols.top_k_everywhere.driver import exact, method, run, views

OPTIONS = [
    {"rounds": 3, "early_stop": False, "changes_only": False},
    {"rounds": 3, "early_stop": False, "changes_only": True},
    {"rounds": 1, "early_stop": True, "changes_only": True},
    {"rounds": 3, "early_stop": True, "changes_only": False},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


@every_option
def test_an_item_that_leads_nowhere_wins_by_its_sum(options: dict[str, object]) -> None:
    sites = {"1": {"a": 10, "x": 6}, "2": {"d": 9, "x": 5}}
    (step,) = run(method(1, **options), [sites])
    assert views(step) == {"1": [("x", 11.0)], "2": [("x", 11.0)]}


def test_exchanging_first_entries_only_answers_wrongly() -> None:
    (step,) = run(method(1, rounds=1, early_stop=False), [{"1": {"a": 10, "x": 6}, "2": {"d": 9, "x": 5}}])
    assert views(step)["1"] == [("a", 10.0)]
    assert all(verdict.kept for verdict in step.verdicts), "one round without early stop promises bounds only"


@every_option
def test_a_change_that_needs_three_rounds_is_followed(options: dict[str, object]) -> None:
    before = {"1": {"0": 11, "2": 5}, "2": {"0": 3}}
    after = {"1": {"0": 1, "1": 2, "2": 3}, "2": {"0": 4, "1": 4, "2": 2}}
    step = run(method(1, Window(length=1), **options), [before, after])[-1]
    assert views(step) == {"1": [("1", 6.0)], "2": [("1", 6.0)]}


def test_sums_that_only_reach_the_threshold_are_named_too() -> None:
    (step,) = run(method(1), [{"1": {"0": 1, "2": 2}, "2": {"0": 1, "3": 2}}])
    assert views(step)["1"] == [("0", 2.0)] == exact([{"0": 1, "2": 2}, {"0": 1, "3": 2}], 1)


def test_a_growing_sum_may_exceed_64_bits() -> None:
    wide = 2**62
    step = run(method(1), [{"1": {"a": wide, "b": 1}, "2": {"a": wide}}] * 4)[-1]
    assert views(step) == {site: [("a", 8.0 * wide)] for site in "12"}


@pytest.mark.slow
@every_option
def test_all_small_cases_end_with_the_exact_list(options: dict[str, object]) -> None:
    """Two sites, three items, every state of sums from 0 to 2 before and after."""
    states = [dict(zip("abc", sums, strict=True)) for sums in product(range(3), repeat=3)]
    rng = Random(5)
    pairs = list(product(states, states))
    for before in rng.sample(pairs, 40):
        for after in rng.sample(pairs, 20):
            for k in (1, 2):
                epochs = [dict(zip("12", sums, strict=True)) for sums in (before, after)]
                for step, sums in zip(
                    run(method(k, Window(length=1), **options), epochs), (before, after), strict=True
                ):
                    assert set(map(tuple, views(step).values())) == {tuple(exact(sums, k))}


@every_option
def test_random_sites_that_come_go_and_return_end_exact(options: dict[str, object]) -> None:
    for seed in range(60):
        rng = Random(seed)
        k, sites = rng.choice([1, 2, 5]), [f"s{i}" for i in range(rng.randint(2, 7))]
        epochs, missing = [], {}
        for epoch in range(8):
            present = [site for site in sites if rng.random() < 0.8] or sites[:1]
            epochs.append({s: {f"i{rng.randint(0, 9)}": rng.randint(1, 9) for _ in range(6)} for s in present})
            missing[epoch] = [site for site in sites if site not in present] if epoch else []
        for step in run(method(k, Window(length=rng.choice([1, 3])), **options), epochs, missing):
            assert all(verdict.kept for verdict in step.verdicts)


def test_unchanged_lists_are_not_sent_again() -> None:
    sites = {"1": {"a": 10, "x": 6}, "2": {"d": 9, "x": 5}}
    steps = run(method(2), [sites, {"1": {}, "2": {}}])
    assert steps[0].settled.messages
    assert steps[1].settled.messages == []


def test_a_site_that_joins_is_sent_whole_lists_and_the_others_only_changes() -> None:
    steps = run(method(1), [{"1": {"a": 3}, "2": {"b": 2}}, {"1": {"a": 1}, "2": {}, "3": {"c": 5}}])
    letters = {m.receivers: decode(m.payload, Candidates) for m in steps[1].settled.messages if m.round == 0}
    assert letters["3",].whole
    assert all(not letter.whole for to, letter in letters.items() if "3" not in to and to != ("1", "2"))
    assert views(steps[1])["3"] == [("c", 5.0)]


def test_negative_sums_are_refused_with_a_remedy() -> None:
    with pytest.raises(DataError, match=r"item 'a' fell to -1; .*where"):
        run(method(1), [{"1": {"a": -1}}])


def test_a_broadcast_is_one_row_however_many_sites_there_are() -> None:
    sites = {f"s{i}": {f"i{i % 7}": 10 + i, "common": 3} for i in range(60)}
    (step,) = run(method(5), [sites])
    assert len(step.settled.messages) <= 3 * len(sites)
    assert sum(message.links for message in step.settled.messages) == 59 * len(step.settled.messages)


@pytest.mark.parametrize(("sites", "share"), [(8, 0.022), pytest.param(29, 0.12, marks=pytest.mark.slow)])
def test_on_a_cache_trace_it_sends_a_small_share_of_full_lists(traces: Path, sites: int, share: float) -> None:
    """k = 20, a window of 15 s in epochs of 5 s, once the window has filled."""
    as_text = pa_csv.ConvertOptions(column_types={"item": "string"})
    with lzma.open(traces / "twitter_cache_cluster52_1M.csv.xz") as file:
        table = pa_csv.read_csv(file, convert_options=as_text)
    items, times = table["item"].to_numpy(zero_copy_only=False)[:90_000], table["time"].to_numpy()[:90_000]
    where = np.random.default_rng(1).integers(0, sites, len(items))
    epochs = [
        {f"s{i}": _counts(items[(times // 5 == at) & (where == i)]) for i in range(sites)}
        for at in np.unique(times // 5)
    ]
    costs = {}
    for kind in (Topico, FullLists):
        steps = run(method(20, Window(length=3), kind), epochs)
        assert all(verdict.kept for step in steps for verdict in step.verdicts)
        costs[kind.name] = sum(message.entries for step in steps[3:] for message in step.settled.messages)
    assert costs["topico"] <= share * costs["full-lists"]


def _counts(items: np.ndarray) -> dict[str, int]:
    names, counts = np.unique(items, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def test_each_method_is_judged_by_its_own_options() -> None:
    """One round promises bounds only; beside it, full lists are held to the exact list, in either order."""
    guessing, exact_one = method(1, rounds=1, early_stop=False), method(1, kind=FullLists)
    sums = {"1": {"a": 10, "x": 6}, "2": {"d": 9, "x": 5}}
    synopses = {site: Counts.of_pairs(found.items()) for site, found in sums.items()}
    for running in ([guessing, exact_one], [exact_one, guessing]):
        steps = Replay(Clock(0, 1), running).step(0, dict.fromkeys(sums, ()), {exact_one.summary(): synopses})
        assert all(verdict.kept for step in steps for verdict in step.verdicts)
        allowed = {step.method: {v.allowed for v in step.verdicts if v.key == ""} for step in steps}
        assert allowed == {"topico": {math.inf}, "full-lists": {0.0}}
