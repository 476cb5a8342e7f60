"""Which items have the most different partners."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from pydantic import ValidationError

from monitoring_lib.answers import Answers
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Method
from monitoring_lib.promises import most_broken
from monitoring_lib.protocols.distinct_pairs.heavy_question import DistinctHeavyHitters, HeavyHittersParams
from monitoring_lib.protocols.distinct_pairs.methods import ExactHeavyHitters, HeavyBits
from tests.protocols.distinct_pairs.driver import Pair, PairWatch, heavy

every_method = pytest.mark.parametrize("kind", [HeavyBits, ExactHeavyHitters], ids=lambda kind: kind.name)


def stream(seed: int, epochs: int, sites: int = 3, amount: int = 400) -> Iterator[dict[str, list[Pair]]]:
    """Items of all sizes around a share of 5 %, many of one pair, the same pairs at several sites."""
    rng = Random(seed)
    weights = [1 / (rank + 3) for rank in range(40)]
    for _ in range(epochs):
        yield {
            f"s{site}": [
                (f"item {item}", f"partner {rng.randrange(2000)}")
                for item in rng.choices([*range(39), rng.randrange(10**6)], weights, k=amount)
            ]
            for site in range(sites)
        }


@every_method
def test_repeated_pairs_count_once_at_however_many_sites(kind: type[Method]) -> None:
    watch = PairWatch(kind(heavy(kind)))
    pairs = [("a", "1"), ("a", "2"), ("b", "1")]
    for _ in range(3):
        rows = watch.step({"x": pairs * 5, "y": pairs})
    assert [(row.key, row.rank, round(row.estimate)) for row in rows.values()] == [
        ("", None, 3),
        ("a", 1, 2),
        ("b", 2, 1),
    ]
    assert [message.epoch for message in watch.messages] == [0, 0]
    watch.assert_certain()


@every_method
def test_an_item_with_many_events_but_one_partner_is_not_heavy(kind: type[Method]) -> None:
    watch = PairWatch(kind(heavy(kind)))
    rows = watch.step({"x": [("loud", "1")] * 5000 + [("wide", str(number)) for number in range(300)]})
    assert list(rows) == ["", "wide"]


@every_method
def test_before_anything_has_happened_there_are_no_pairs(kind: type[Method]) -> None:
    watch = PairWatch(kind(heavy(kind)), sites=["a"])
    rows = watch.step({})
    assert [(row.key, row.rank, row.low, row.high) for row in rows.values()] == [("", None, 0, 0)]
    watch.assert_certain()


@every_method
def test_a_reset_starts_anew(kind: type[Method]) -> None:
    watch = PairWatch(kind(heavy(kind, window=Window(reset=1))))
    for number in range(3):
        rows = watch.step({"x": [(f"item {number}", "1")]})
        assert list(rows) == ["", f"item {number}"]
        assert rows[""].estimate == pytest.approx(1, abs=0.01)


@every_method
def test_pairs_of_a_missing_site_are_owed(kind: type[Method]) -> None:
    watch = PairWatch(kind(heavy(kind)))
    watch.step({"x": [("a", "1")], "y": [("b", "1")]})
    rows = watch.step({"x": [("a", "2")], "y": [("c", "3")]}, missing=["y"])
    assert set(rows) == {"", "a", "b"}
    assert all(row.partial for row in rows.values())
    watch.assert_certain()


def test_the_baseline_is_exact_at_every_epoch() -> None:
    watch = PairWatch(ExactHeavyHitters(heavy(ExactHeavyHitters, share="0.05", error="0.01")))
    for events in stream(1, 8):
        watch.step(events)
    assert all(verdict.kept and verdict.confidence == 1 for verdict in watch.verdicts)


@pytest.mark.parametrize(("share", "error"), [("0.05", "0.01"), ("0.02", "0.01")])
def test_promises_are_kept_as_often_as_they_say_over_many_seeds(share: str, error: str) -> None:
    runs, broken = 40, 0.0
    for seed in range(runs):
        watch = PairWatch(HeavyBits(heavy(HeavyBits, share, error, seed=seed)))
        for events in stream(4, 5):
            watch.step(events)
        watch.assert_certain()
        broken += watch.broken
    assert broken <= most_broken(runs, 0.95)


def test_a_sketch_too_small_for_the_promise_is_noticed() -> None:
    runs, broken = 20, 0.0
    for seed in range(runs):
        watch = PairWatch(HeavyBits(heavy(HeavyBits, "0.05", "0.01", seed=seed, cells=30, rows=1)))
        for events in stream(4, 3):
            watch.step(events)
        broken += watch.broken
    assert broken > most_broken(runs, 0.95)


def test_on_a_real_trace_names_are_known_and_bounds_hold_at_every_epoch(traces: Path) -> None:
    watch = PairWatch(HeavyBits(heavy(HeavyBits, "0.01", "0.002")))
    epochs: dict[int, dict[str, list[Pair]]] = {}
    with lzma.open(traces / "zeek_dns_wrccdc_2018-03-24.csv.xz", "rt", encoding="utf-8") as file:
        for row in islice(csv.DictReader(file), 30_000):
            at = epochs.setdefault(int(float(row["time"])) // 60, {})
            at.setdefault(row["site"], []).append((row["item"], row["src"]))
    for _, events in sorted(epochs.items()):
        watch.step(events)
    watch.assert_certain()
    assert watch.broken == 0
    assert {verdict.promise for verdict in watch.verdicts} >= {"above share is listed", "within bounds"}


def test_the_judge_notices_what_is_missing_surplus_wrong_or_wide() -> None:
    watch = PairWatch(ExactHeavyHitters(heavy(ExactHeavyHitters)))
    events = {"x": [(item, str(number)) for item in ("a", "b") for number in range(50)] + [("c", "1")]}
    good = list(watch.step(events).values())
    truth, moment = watch.replay._landed["exact"].truth, watch.replay._moments(0, frozenset())["exact"]

    def kept(rows: list) -> bool:
        return all(verdict.kept for verdict in truth.judge(moment, Answers.of(rows)))

    assert kept(good)
    assert not kept(good[1:])
    assert not kept(good[:-1])
    assert not kept([*good, replace(good[-1], key="c", rank=3, estimate=1.0, low=1.0, high=1.0)])
    assert not kept([good[0], good[1], replace(good[2], rank=1)])
    assert not kept([good[0], replace(good[1], estimate=49.0, high=49.0), good[2]])
    assert not kept([replace(good[0], low=0.0, high=500.0), *good[1:]])


def test_options_that_contradict_the_promise_are_faults_with_a_remedy() -> None:
    assert list(HeavyBits(heavy(HeavyBits)).faults()) == []
    faults = list(HeavyBits(heavy(HeavyBits, bitmaps=10, cells=5)).faults())
    assert [fault.path for fault in faults] == [
        ("options", "shared-bits", "bitmaps"), ("options", "shared-bits", "cells")
    ]  # fmt: skip
    assert all("or more" in fault.remedy for fault in faults)
    (fault,) = DistinctHeavyHitters().faults(heavy(HeavyBits, "0.01", "0.01"))
    assert fault.path == ("error",)
    assert DistinctHeavyHitters().needs(None) == ("by",)
    with pytest.raises(ValidationError):
        HeavyHittersParams(share=0, error=0.1)


def test_states_go_on_while_the_array_stays_the_same() -> None:
    now = HeavyBits(heavy(HeavyBits))
    assert now.continues(heavy(HeavyBits))
    assert not now.continues(heavy(HeavyBits, error="0.05"))
    assert not now.continues(heavy(HeavyBits, seed=1))
    sized = {"bitmaps": 9000, "cells": 9000}
    assert HeavyBits(heavy(HeavyBits, **sized)).continues(heavy(HeavyBits, error="0.05", **sized))
    assert ExactHeavyHitters(heavy(ExactHeavyHitters)).continues(heavy(ExactHeavyHitters, share="0.3"))


def test_shares_may_be_computed_numbers_with_all_digits_of_a_double() -> None:
    params = HeavyHittersParams.model_validate({"share": 0.1, "error": 0.1 / 3})
    assert not list(DistinctHeavyHitters().faults(replace(heavy(HeavyBits), params=params)))
