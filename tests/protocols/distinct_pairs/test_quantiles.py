"""Quantiles over the different items of a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from pydantic import ValidationError

from monitoring_lib.answers import Answers
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Method
from monitoring_lib.promises import most_broken
from monitoring_lib.protocols.distinct_pairs.methods import ExactQuantiles, QuantileBits
from monitoring_lib.protocols.distinct_pairs.pairs import NumbersSummary
from monitoring_lib.protocols.distinct_pairs.quantile_question import QuantilesParams
from monitoring_lib.summaries import Rows
from tests.protocols.distinct_pairs.driver import Pair, PairWatch, quantiles

every_method = pytest.mark.parametrize("kind", [QuantileBits, ExactQuantiles], ids=lambda kind: kind.name)


def stream(seed: int, epochs: int, amount: int = 700) -> Iterator[dict[str, list[Pair]]]:
    """Few numbers with many partners, many with one, in two heaps far apart."""
    rng = Random(seed)
    for _ in range(epochs):
        yield {
            f"s{site}": [
                (str(int(rng.choice([80, 30_000]) + rng.paretovariate(0.8)) % 65_536), f"partner {rng.randrange(300)}")
                for _ in range(amount)
            ]
            for site in range(3)
        }


@every_method
def test_duplicates_do_not_move_a_quantile(kind: type[Method]) -> None:
    watch = PairWatch(kind(quantiles(kind, 0.5, paired=False)))
    rows = watch.step({"x": [("9", "")] * 1000 + [("1", ""), ("5", "")], "y": [("9", "")] * 50})
    assert rows["q0.5"].estimate == 5
    watch.assert_certain()


@every_method
def test_with_partners_different_pairs_count(kind: type[Method]) -> None:
    watch = PairWatch(kind(quantiles(kind, 0.5)))
    rows = watch.step({"x": [("9", str(number)) for number in range(20)] + [("1", "a"), ("5", "a")] * 30})
    assert rows["q0.5"].estimate == 9


@every_method
def test_an_empty_window_has_no_rows_and_a_reset_empties_it(kind: type[Method]) -> None:
    watch = PairWatch(kind(quantiles(kind, window=Window(reset=1))), sites=["x"])
    assert watch.step({}) == {}
    assert len(watch.step({"x": [("3", "a")]})) == 3
    assert watch.step({}) == {}
    watch.assert_certain()


def test_what_is_no_whole_number_within_range_is_refused_and_spellings_of_one_number_are_one() -> None:
    texts = ["0", "255", "256", "-1", "1.5", "x", "", "007", "7.0", " 7 ", "1e2", "9" * 30, "7."]
    numbers = pa.array([1] * len(texts), pa.int64())
    rows = Rows({"item": pa.array(texts)}, numbers, numbers)
    summary = NumbersSummary(8, paired=False)
    refused = summary.refused(rows)
    kept = [text for text, out in zip(texts, refused.to_pylist(), strict=True) if not out]
    assert kept == ["0", "255", "007", "7.0", " 7 ", "7."]
    built = summary.build(None, rows.filter(pa.array([text in kept for text in texts])))  # type: ignore[arg-type]
    assert list(built) == [("0", ""), ("255", ""), ("7", "")]


def test_the_baseline_is_exact_at_every_epoch() -> None:
    watch = PairWatch(ExactQuantiles(quantiles(ExactQuantiles, 0, 0.1, 0.5, 0.99, 1)))
    for events in stream(1, 6):
        watch.step(events)
    assert all(verdict.kept and verdict.confidence == 1 for verdict in watch.verdicts)
    assert all(row.low == row.high for row in watch.rows.values())
    assert list(watch.rows) == ["q0", "q0.1", "q0.5", "q0.99", "q1"]  # numbers as Python prints them


@pytest.mark.parametrize(("error", "bits"), [("0.05", 16), ("0.1", 32)])
def test_promises_are_kept_as_often_as_they_say_over_many_seeds(error: str, bits: int) -> None:
    runs, broken = 40, 0.0
    for seed in range(runs):
        wanted = quantiles(QuantileBits, 0.1, 0.25, 0.5, 0.75, 0.9, bits=bits, error=error, seed=seed)
        watch = PairWatch(QuantileBits(wanted))
        for events in stream(3, 4):
            watch.step(events)
        watch.assert_certain()
        broken += watch.broken
    assert broken <= most_broken(runs, 0.95)


def test_sketches_too_small_for_the_promise_are_noticed() -> None:
    runs, broken = 20, 0.0
    for seed in range(runs):
        watch = PairWatch(QuantileBits(quantiles(QuantileBits, error="0.05", seed=seed, bitmaps=2)))
        for events in stream(3, 3):
            watch.step(events)
        broken += watch.broken
    assert broken > most_broken(runs, 0.95)


def test_the_judge_notices_what_is_missing_surplus_wrong_or_wide() -> None:
    watch = PairWatch(ExactQuantiles(quantiles(ExactQuantiles, 0.25, 0.5)))
    good = list(watch.step({"x": [(str(number), "") for number in range(100)]}).values())
    truth, moment = watch.replay._landed["exact"].truth, watch.replay._moments(0, frozenset())["exact"]

    def kept(rows: list) -> bool:
        return all(verdict.kept for verdict in truth.judge(moment, Answers.of(rows)))

    assert [row.estimate for row in good] == [24, 49]
    assert kept(good)
    assert kept([replace(good[0], low=20.0, high=29.0), good[1]])
    assert not kept(good[1:])
    assert not kept([*good, good[0]])
    assert not kept([replace(good[0], high=35.0), good[1]])
    assert not kept([replace(good[0], low=26.0, estimate=26.0, high=27.0), good[1]])
    assert not kept([replace(good[0], estimate=24.5, high=25.0), good[1]])


def test_options_and_parameters_that_contradict_each_other_are_refused() -> None:
    assert list(QuantileBits(quantiles(QuantileBits)).faults()) == []
    (fault,) = QuantileBits(quantiles(QuantileBits, bitmaps=10)).faults()
    assert fault.path == ("options", "shared-bits", "bitmaps")
    (fault,) = QuantileBits(quantiles(QuantileBits, bits=40, error="0.0001")).faults()
    assert fault.path == ("error",)
    for wrong in ({"bits": 0}, {"bits": 41}, {"quantiles": []}, {"quantiles": [0.5, 0.5]}, {"error": 0}):
        with pytest.raises(ValidationError):
            QuantilesParams(**{"bits": 8, "quantiles": [0.5], "error": 0.1, **wrong})


def test_states_go_on_for_other_quantiles_but_not_over_other_numbers() -> None:
    now = QuantileBits(quantiles(QuantileBits))
    assert now.continues(quantiles(QuantileBits, 0.3))
    assert not now.continues(quantiles(QuantileBits, bits=8))
    assert not now.continues(quantiles(QuantileBits, paired=False))
    assert not now.continues(quantiles(QuantileBits, seed=3))
    exact = ExactQuantiles(quantiles(ExactQuantiles))
    assert exact.continues(quantiles(ExactQuantiles, 0.3, error="0.2"))
    assert not exact.continues(quantiles(ExactQuantiles, bits=8))
