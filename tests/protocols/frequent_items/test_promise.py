"""The promise where it is hardest to keep, and a judge that notices when it is not kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from monitoring_lib.answers import Answers
from monitoring_lib.epochs import Window
from monitoring_lib.errors import DataError
from monitoring_lib.methods import Method
from monitoring_lib.protocols.frequent_items.bounds import Bounds, merging
from monitoring_lib.protocols.frequent_items.gradient import Gradient, lowering
from monitoring_lib.protocols.frequent_items.gradient import merging as gradient_merging
from monitoring_lib.protocols.frequent_items.gradient import root as gradient_root
from monitoring_lib.synopses.counts import Counts
from tests.protocols.frequent_items.driver import broken, items, method, root_states, run, total

Epochs = list[dict[str, dict[str, int]]]
VARIANTS: list[Callable[..., Method]] = [
    method,
    lambda *given, **more: method(*given, send="upper", **more),
    *(
        lambda *given, strategy=strategy, algorithm=algorithm, **more: method(
            *given, kind=Gradient, strategy=strategy, algorithm=algorithm, **more
        )
        for strategy in ("zero", "full", "min-root-load", "worst-case", "mixed")
        for algorithm in "ab"
    ),
]


def spread_thin(rng: Random) -> Epochs:
    """A frequent item that lies just at the border of what each site may leave out."""
    epochs = []
    for _ in range(4):
        leaves = {}
        for site in range(12):
            border = 10 + rng.choice([-1, 0, 1, 1])
            leaves[f"s{site:02}"] = {"thin": border, **{f"{site}/{i}": 9 for i in range(10)}}
        epochs.append(leaves)
    return epochs


def waves(rng: Random) -> Epochs:
    """Items that are frequent for an epoch and silent for several, with silent epochs in between."""
    epochs: Epochs = []
    for epoch in range(16):
        sites = {f"s{site:02}": {f"wave {epoch // 3}": 30, f"x{rng.randint(0, 40)}": 5} for site in range(12)}
        epochs.append(sites if epoch % 4 else {site: {} for site in sites})
    return epochs


def lopsided(rng: Random) -> Epochs:
    """An item that some sites list and the others leave out, though they all have it."""
    return [
        {
            f"s{site:02}": {"much": 200 if site < 3 else 10, **{f"{site}/{i}": 39 for i in range(9)}, "rest": 39}
            for site in range(12)
        }
        for _ in range(4)
    ]


def heavy(rng: Random) -> Epochs:
    """Sums of values rather than counts, of very different size, up to where doubles are no longer exact."""
    return [
        {f"s{site:02}": {f"i{i}": rng.randint(1, 10 ** rng.randint(1, 15)) for i in range(12)} for site in range(10)}
        for _ in range(4)
    ]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("decay", ["0.6", "0.9", "1"])
@pytest.mark.parametrize("scenario", [spread_thin, waves, lopsided, heavy])
def test_no_epoch_breaks_the_promise(
    variant: Callable[..., Method], decay: str, scenario: Callable[..., Epochs]
) -> None:
    listed = 0
    for support, error in (("0.1", "0.1"), ("0.1", "0.03")):
        steps = run(variant(support, error, decay, {"fanout": 3}), scenario(Random(5)))
        assert broken(steps) == []
        listed += sum(len(items(step)) for step in steps)
    assert listed


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_long_silence_lets_the_total_vanish_and_what_comes_after_is_right(variant: Callable[..., Method]) -> None:
    first, later = {"s": {"old": 10**6}}, {"s": {"new": 3}}
    steps = run(variant("0.5", "0.1", "0.01"), [first, *[{"s": {}}] * 160, later])
    assert broken(steps) == []
    assert total(steps[155]) is None
    assert total(steps[10]) == pytest.approx(10**6 * 0.01**10)
    assert items(steps[-1]).keys() == {"new"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_epoch_without_events_decays_everything(variant: Callable[..., Method]) -> None:
    steps = run(variant("0.5", "0.1", "0.5"), [{"s": {"a": 64}}, {"s": {}}, {"s": {}}])
    assert [total(step) for step in steps] == [64, 32, 16]
    assert broken(steps) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_before_the_first_site_is_known_there_is_nothing_to_say(variant: Callable[..., Method]) -> None:
    steps = run(variant("0.5", "0.1"), [{}, {}, {"s": {"a": 4}}])
    assert [total(step) for step in steps] == [None, None, 4]
    assert broken(steps) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_reset_forgets_everything(variant: Callable[..., Method]) -> None:
    running = variant("0.5", "0.1", window=Window(reset=2))
    steps = run(running, [{"s": {"a": 8}}, {"s": {"a": 8}}, {"s": {"b": 1}}, {"s": {}}, {"s": {}}])
    assert [total(step) for step in steps] == [8, 16, 1, 1, None]
    assert broken(steps) == []


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[1], VARIANTS[4], VARIANTS[6], VARIANTS[8]])
def test_the_root_keeps_few_items_where_old_counts_fade(variant: Callable[..., Method]) -> None:
    rng = Random(3)
    epochs = [
        {f"s{s}": {"always": 2, **{f"{epoch}/{rng.randint(0, 400)}": 1 for _ in range(50)}} for s in range(12)}
        for epoch in range(60)
    ]
    sizes = [len(state.names) for state in root_states(variant("0.05", "0.01", "0.9"), epochs)]
    assert 0 < sizes[-1] < 600
    assert max(sizes[30:]) <= 1.5 * max(sizes[10:30])


def test_a_negative_sum_is_refused_with_item_and_remedy() -> None:
    for kind in (Bounds, Gradient):
        with pytest.raises(DataError, match=r"item 'back' sums up to -3.*where: \"value > 0\""):
            run(method(kind=kind), [{"s": {"a": 4, "back": -3}}])


def test_a_total_beyond_62_bits_is_refused() -> None:
    for kind in (Bounds, Gradient):
        with pytest.raises(DataError, match="does not fit in 62 bits"):
            run(method(kind=kind), [{"s": {"a": 2**61}, "t": {"a": 2**61 + 1}}])


Change = Callable[[pytest.MonkeyPatch], None]


def mutations() -> list[tuple[str, Change, Callable[..., Method]]]:
    bounds, gradient = VARIANTS[0], VARIANTS[4]

    def patched(target: Any, name: str, value: Any) -> Change:
        return lambda patch: patch.setattr(target, name, value)

    letter = merging.MergedBounds.letter
    lowered = lowering.lowered

    def too_coarse(self: Any, error: Fraction, send: Any) -> Any:
        return letter(self, 2 * error, send)

    def forgets_the_unlisted(self: Any, error: Fraction, send: Any) -> Any:
        sent = letter(self, error, send)
        sent.unlisted = 0
        return sent

    def twice(counts: Any, by: float, total: float) -> Any:
        return lowered(counts, 2 * by, total)

    def not_at_all(counts: Any, by: float, total: float) -> Any:
        return np.ones(len(counts), np.bool_), counts + by

    return [
        ("bounds leave out twice as much", patched(merging.MergedBounds, "letter", too_coarse), bounds),
        ("bounds forget the unlisted", patched(merging.MergedBounds, "letter", forgets_the_unlisted), bounds),
        ("the gradient lowers twice", patched(gradient_merging, "lowered", twice), VARIANTS[8]),
        ("the root lowers twice", patched(gradient_root, "lowered", twice), gradient),
        ("the root raises", patched(gradient_root, "lowered", not_at_all), gradient),
    ]


@pytest.mark.parametrize(("what", "change", "variant"), mutations(), ids=[what for what, _, _ in mutations()])
def test_a_mutation_of_the_protocol_is_caught(
    what: str, change: Change, variant: Callable[..., Method], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch)
    found = [
        verdict
        for scenario in (spread_thin, waves, lopsided)
        for decay in ("0.9", "1")
        for verdict in broken(run(variant("0.1", "0.03", decay, {"fanout": 3}), scenario(Random(5))))
    ]
    assert found, what


def judged(change: Callable[[Any], Any]) -> list[str]:
    """The promises that the judge calls broken once the answer's table is changed."""
    running = method("0.2", "0.1", "0.5")
    steps = run(running, [{"s": {"a": 40, "b": 30, "c": 10, "d": 20}}])
    moment, answers = steps[0].moment, steps[0].settled.answers
    truth = running.question.truth(running.ask)
    truth.observe(moment, "s", Counts.of_pairs([("a", 40), ("b", 30), ("c", 10), ("d", 20)]), Counts())
    rows = change(list(answers))
    return sorted({verdict.promise for verdict in truth.judge(moment, Answers.of(rows)) if not verdict.kept})


def changed(rows: list[Any], which: str, **values: Any) -> list[Any]:
    return [replace(row, **values) if row.key == which else row for row in rows]


def test_the_judge_notices_what_is_wrong_with_an_answer() -> None:
    assert judged(lambda rows: rows) == []
    assert judged(lambda rows: [row for row in rows if row.key != "a"]) == ["frequent items listed"]
    assert judged(lambda rows: [row for row in rows if row.key != ""]) == ["total within bounds"]
    assert judged(lambda rows: changed(rows, "", low=101.0, estimate=101.0, high=101.0)) == ["total within bounds"]
    assert judged(lambda rows: changed(rows, "a", low=40.0000001, estimate=41.0, high=42.0)) == ["count within bounds"]
    assert judged(lambda rows: changed(rows, "a", low=35.0, high=45.1)) == ["count within bounds"]
    assert judged(lambda rows: changed(rows, "a", rank=2)) == ["frequent items listed"]
    assert judged(lambda rows: [rows[0], *rows[:0:-1]]) == ["frequent items listed"]
    rare = changed(judged_rows(), "b", key="e", low=0.0, high=10.0, estimate=1.0)
    assert "frequent items listed" in judged(lambda rows: rare)


def judged_rows() -> list[Any]:
    return list(run(method("0.2", "0.1", "0.5"), [{"s": {"a": 40, "b": 30, "c": 10, "d": 20}}])[0].settled.answers)


def test_numbers_are_published_in_units_of_the_measure() -> None:
    step = run(method("0.5", "0.1", scale=100), [{"s": {"a": 1234, "b": 100}}])[0]
    assert (total(step), items(step)) == (13.34, {"a": (12.34, 12.34, 12.34)})


def test_exact_counts_decay_as_fractions_say() -> None:
    steps = run(method("0.1", "0", "0.7"), [{"s": {"a": 3, "b": 1}}] * 30)
    exact = sum(Fraction(Decimal("0.7")) ** age for age in range(30)) * 3
    low, _, high = items(steps[-1])["a"]
    assert Fraction(low) <= exact <= Fraction(high)
    assert high - low < 1e-12
