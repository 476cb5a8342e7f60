"""The sample: which items are in it, and how far their counts may fall behind."""

from __future__ import annotations

import csv
import gzip
from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from monitoring_lib.methods import Method
from monitoring_lib.protocols.duplication.methods import GlobalCounts, LazyCounts, LocalCounts
from monitoring_lib.protocols.duplication.sampled import slack
from monitoring_lib.synopses.distinct_sample import DistinctSample
from tests.protocols.duplication.driver import SampleWatch

SAMPLED = [LocalCounts, GlobalCounts, LazyCounts]
every_way = pytest.mark.parametrize("kind", SAMPLED, ids=lambda kind: kind.name)


def central(watch: SampleWatch) -> DistinctSample:
    """The sample that one node which sees all events would draw."""
    ask = watch.method.ask
    sample = DistinctSample(ask.params.sample, ask.options.seed)
    sample.update(list(watch.truth), list(watch.truth.values()))
    return sample


def assert_kept(watch: SampleWatch) -> None:
    """The sample is the central one, and no count is too large, or too small by more than the lag."""
    drawn, lag = central(watch), Fraction(watch.method.ask.params.lag)
    assert watch.coordinator.level == drawn.level
    assert watch.sample.keys() == dict(drawn).keys()
    for name, count in watch.sample.items():
        exact = watch.truth[name]
        assert count <= exact
        assert Fraction(exact - count, exact) <= lag / (1 + lag), (name, count, exact)


def test_a_site_tells_a_count_when_it_exceeds_the_last_by_more_than_the_lag() -> None:
    watch = SampleWatch(LocalCounts, lag="0.5")
    told = []
    for _ in range(12):
        watch.step({"a": ["v"]})
        told.append(watch.sample["v"])
    assert told == [1, 2, 2, 4, 4, 4, 7, 7, 7, 7, 11, 11]


def test_shared_counts_give_each_site_its_part_of_the_lag_of_the_total() -> None:
    watch = SampleWatch(GlobalCounts, lag="0.5")
    watch.step({"a": ["v"] * 40, "b": ["w"]})
    assert watch.site("b").totals.get("v") == 40
    watch.step({"b": ["v"] * 10})  # 0.5 / 2 * 40
    assert watch.sample["v"] == 40
    watch.step({"b": ["v"]})
    assert watch.sample["v"] == 51


def test_lazy_counts_tell_only_the_sender_and_only_what_gives_it_more_slack() -> None:
    watch = SampleWatch(LazyCounts, lag="0.5")
    watch.step({"a": ["v"] * 3, "b": ["w"] * 3})  # 0.25 * 3 gives no whole count of slack
    assert [message.kind for message in watch.messages] == ["increments", "increments"]
    watch.step({"a": ["v"]})
    assert watch.site("a").totals.get("v") == 4
    assert watch.site("b").totals.get("v") == 0
    replies = [message for message in watch.messages if message.kind == "totals"]
    assert [message.receivers for message in replies] == [("a",)]


@every_way
@pytest.mark.parametrize("lag", ["0", "0.1", "0.9"])
def test_at_every_epoch_the_sample_is_the_central_one_with_counts_within_the_lag(kind: type[Method], lag: str) -> None:
    for seed in range(6):
        rng = Random(f"{kind.name}{lag}{seed}")
        watch = SampleWatch(kind, lag=lag, seed=seed, sample=rng.choice([20, 50]))
        sites = [f"s{number}" for number in range(rng.randint(1, 6))]
        for epoch in range(25):
            if epoch % 8 == 5:
                sites.append(f"late {epoch}")
            events = {
                site: [f"{int(rng.paretovariate(0.3)) % 900}" for _ in range(rng.choice([0, 1, 30, 300]))]
                for site in sites
            }
            missing = {site for site in sites[:-1] if rng.random() < 0.1}
            watch.step({site: items for site, items in events.items() if items and site not in missing}, missing)
            if kind is LocalCounts or not missing:
                assert_kept(watch)
        assert watch.coordinator.level > 0
        assert [verdict for verdict in watch.verdicts if verdict.confidence == 1 and not verdict.kept] == []


def test_a_site_that_fills_the_sample_alone_says_so_even_if_nothing_new_stays() -> None:
    """The item that makes the sample overflow may be one that the higher level drops."""
    for seed in range(30):
        watch = SampleWatch(LocalCounts, seed=seed)
        watch.step({"a": [str(number) for number in range(20)]})
        for number in range(20, 40):
            watch.step({"a": [str(number)]})
            assert_kept(watch)


@every_way
def test_a_site_that_missed_the_level_is_told_when_it_sends_below_it(kind: type[Method]) -> None:
    watch = SampleWatch(kind)
    watch.step({"a": ["x"], "b": ["y"]})
    watch.step({"a": [str(number) for number in range(300)]}, missing=["b"])
    assert watch.site("b").level == 0
    watch.step({"b": [f"more {number}" for number in range(15)]})
    assert watch.site("b").level == watch.coordinator.level > 0
    assert_kept(watch)


@every_way
def test_with_more_sites_every_count_is_held_against_the_smaller_part_of_the_lag(kind: type[Method]) -> None:
    watch = SampleWatch(kind, lag="0.9")
    watch.step({"a": ["v"] * 100, "b": ["v"] * 100})
    watch.step({"a": ["v"] * 80, "b": ["v"] * 80})
    for number in range(8):
        watch.step({f"late {number}": ["v"] * 15})
        assert_kept(watch)


@every_way
def test_several_levels_rise_in_one_epoch_and_are_broadcast_once(kind: type[Method]) -> None:
    watch = SampleWatch(kind, sites=["a", "b", "c"])
    watch.step({site: [f"{site}{number}" for number in range(500)] for site in "abc"})
    levels = [message for message in watch.messages if message.kind == "sample-level"]
    assert len(levels) == 1
    assert levels[0].receivers == ("a", "b", "c")
    assert watch.coordinator.level >= 5
    assert_kept(watch)


def test_a_threshold_off_by_the_number_of_sites_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack.SharedSlack, "allotment", lambda self, lag, moment: lag)
    with pytest.raises(AssertionError):
        test_at_every_epoch_the_sample_is_the_central_one_with_counts_within_the_lag(GlobalCounts, "0.9")


@every_way
def test_on_a_real_trace_the_sample_is_the_central_one_at_every_epoch(kind: type[Method], traces: Path) -> None:
    watch = SampleWatch(kind, sample=200)
    with gzip.open(traces / "wiki_edits_2015-09-12.csv.gz", "rt", encoding="utf-8") as file:
        epochs: dict[str, dict[str, list[str]]] = {}
        for row in islice(csv.DictReader(file), 6000):
            epochs.setdefault(row["time"][:15], {}).setdefault(row["site"], []).append(row["item"])
    for _, events in sorted(epochs.items()):
        watch.step(events)
        assert_kept(watch)
    assert watch.coordinator.level > 2
