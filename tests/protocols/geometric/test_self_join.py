"""The self-join size, as users see it: promise, costs, sites that come and go, real traces."""

from __future__ import annotations

import csv
import gzip
import lzma
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
import pytest

from monitoring_lib.methods import Method
from monitoring_lib.network import Message
from monitoring_lib.promises import most_broken
from monitoring_lib.protocols.geometric.self_join import Convex, EveryUpdate, HalfSpace, fences
from monitoring_lib.protocols.geometric.self_join.question import SelfJoinParams, sizes_of
from tests.protocols.geometric.driver import Epoch, broken, method, run

FENCED = pytest.mark.parametrize("kind", [Convex, HalfSpace], ids=lambda kind: kind.name)


def params(tolerance: float = 0.15, error: float = 0.0) -> SelfJoinParams:
    return SelfJoinParams(tolerance=tolerance, error=error)


def skewed(rng: Random, sites: int, epochs: int, amount: int = 20) -> list[Epoch]:
    names = [f"item {number}" for number in range(40)]
    weights = [1 / (1 + number) for number in range(40)]
    return [
        {f"s{site}": Counter(rng.choices(names, weights, k=amount)) for site in range(sites)} for _ in range(epochs)
    ]


@FENCED
def test_an_empty_window_has_a_row_with_0(kind: type[Method]) -> None:
    steps = run([method(kind, params(), span=2)], [{"a": {"x": 3}}, {"a": {}}, {"a": {}}, {"a": {}}])
    assert [step.settled.answers.column("estimate") for step in steps] == [[9.0], [9.0], [0.0], [0.0]]
    assert broken(steps) == []


@FENCED
def test_windows_end_at_ticks_and_may_be_shorter_than_an_epoch(kind: type[Method]) -> None:
    """Events lie in the last of 4 ticks: a window of 3 ticks holds one epoch, one of 5 two."""
    epochs = [{"a": {"x": 3}}, {"a": {"x": 5}}, {"a": {}}]
    short, long = (run([method(kind, params(), span, ticks=4)], epochs) for span in (3, 5))
    assert [step.settled.answers.column("estimate") for step in short] == [[9.0], [25.0], [0.0]]
    assert [step.settled.answers.column("estimate") for step in long] == [[9.0], [64.0], [25.0]]


@FENCED
@pytest.mark.parametrize("balancing", ["partial", "full"])
@pytest.mark.parametrize("slack", ["even", "count", "root"])
def test_the_promise_holds_with_every_way_to_balance(kind: type[Method], balancing: str, slack: str) -> None:
    for seed in range(3):
        rng = Random(f"{seed}{balancing}{slack}")
        epochs = skewed(rng, 7, 40)
        error = rng.choice([0.0, 0.2])
        chosen = method(
            kind, params(rng.choice([0.05, 0.15, 0.3]), error), 8, seed=seed, balancing=balancing, slack=slack
        )
        assert broken(run([chosen], epochs)) == []


@FENCED
def test_sites_that_join_go_missing_and_come_back_leave_the_promise_whole(kind: type[Method]) -> None:
    rng = Random(5)
    epochs = [{site: items for site, items in epoch.items() if int(site[1:]) <= 2 + at // 4}
              for at, epoch in enumerate(skewed(rng, 8, 30))]  # fmt: skip
    missing = {at: [f"s{rng.randrange(3)}"] for at in range(4, 20) if rng.random() < 0.4}
    steps = run([method(kind, params(error=error), 6) for error in (0.0,)], epochs, missing)
    assert broken(steps) == []
    assert {step.settled.answers.any_partial for step in steps} == {True, False}


def test_a_fence_that_is_off_by_the_tolerance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitoring_lib.protocols.geometric.self_join import coordinator, site

    def too_wide(norms: object, tolerance: float) -> tuple[float, float]:
        low, high = fences.bounds(norms, tolerance)  # type: ignore[arg-type]
        return low / (1 + tolerance), high * (1 + tolerance)

    for module in (coordinator, site):
        monkeypatch.setattr(module, "bounds", too_wide)
    found = [broken(run([method(Convex, params(), 6)], skewed(Random(seed), 4, 30))) for seed in range(4)]
    assert any(found)


@pytest.mark.slow
def test_the_probable_promise_of_sketches_is_kept_over_seeds() -> None:
    epochs, shares = skewed(Random(1), 3, 10, 60), []
    for seed in range(12):
        steps = run([method(Convex, params(0.15, 0.2), 6, seed=seed)], epochs)
        assert broken(steps) == []
        probable = [found.kept for step in steps for found in step.verdicts if found.confidence < 1]
        shares.append(probable.count(False) / len(probable))
    assert sum(shares) <= most_broken(len(shares), 0.95)


def read(path: Path) -> list[dict[str, str]]:
    opened = lzma.open if path.suffix == ".xz" else gzip.open
    with opened(path, "rt") as lines:
        return [row for row, _ in zip(csv.DictReader(lines), range(12_000), strict=False)]


def cost(messages: list[Message]) -> int:
    return sum(message.bytes for message in messages)


@pytest.mark.parametrize("tolerance", [0.05, 0.15, 0.3])
def test_twitter_stays_within_the_tolerance_from_the_first_epoch_on(traces: Path, tolerance: float) -> None:
    rows = read(traces / "twitter_cache_cluster52_1M.csv.xz")
    last = int(rows[-1]["time"])
    epochs = [{f"s{site}": Counter() for site in range(8)} for _ in range(last + 1)]
    for row in rows:
        epochs[int(row["time"])][f"s{crc32(row['item'].encode()) % 8}"][row["item"]] += 1
    chosen = params(tolerance, 0.167)
    steps = run([method(kind, chosen, 3) for kind in (Convex, EveryUpdate)], epochs)
    assert broken(steps) == []
    by_method = Counter()
    for step in steps:
        by_method[step.method] += cost(step.settled.messages)
    assert by_method["convex"] < by_method["every-update"]


@pytest.mark.parametrize("tolerance", [0.05, 0.15, 0.3])
def test_flights_stay_within_the_tolerance_from_the_first_epoch_on(traces: Path, tolerance: float) -> None:
    rows = read(traces / "flights_2001_jan-apr.csv.xz")
    hours: dict[str, dict[str, Counter[str]]] = {}
    for row in rows[:4_000]:
        hours.setdefault(row["time"][:13], {}).setdefault(row["site"], Counter())[row["item"]] += 1
    epochs = [hours[hour] for hour in sorted(hours)]
    steps = run([method(Convex, params(tolerance), 12), method(HalfSpace, params(tolerance), 12)], epochs)
    assert broken(steps) == []


def kinds(step: object) -> list[str]:
    return sorted({message.kind for message in step.settled.messages})  # type: ignore[attr-defined]


def test_a_window_that_fills_steadily_is_synchronised_a_few_times_only() -> None:
    """The size grows to its 400-fold; with the growth of the window in the tests nearly all of it is expected."""
    steady = [{"a": {"x": 30, "y": 10}, "b": {"x": 5, "z": 50}, "c": {"y": 20}} for _ in range(25)]
    growing = run([method(Convex, params(0.05), span=20)], steady)
    fixed = run([method(Convex, params(0.05), span=20, growth="none")], steady)
    fetched = [sum("fetch" in kinds(step) for step in steps) for steps in (growing, fixed)]
    assert fetched[0] <= 3 < 15 <= fetched[1]
    assert broken([*growing, *fixed]) == []


def test_a_window_that_stops_filling_half_way_keeps_the_promise() -> None:
    """What was expected does not come, then comes all at once, then leaves."""
    busy, quiet = {"a": {"x": 30}, "b": {"y": 9}}, {"a": {}, "b": {"y": 1}}
    for tolerance in (0.05, 0.3):
        steps = run(
            [method(Convex, params(tolerance), span=12)], [*[busy] * 4, *[quiet] * 5, *[busy] * 9, *[quiet] * 20]
        )
        assert broken(steps) == []


@FENCED
def test_a_site_that_joins_is_told_the_reference_and_nobody_sends_its_array(kind: type[Method]) -> None:
    both = {"a": {"x": 50}, "b": {"x": 50}}
    steps = run([method(kind, params(0.3), span=1)], [both, both, {**both, "c": {"x": 1}}, {**both, "c": {"x": 1}}])
    assert kinds(steps[2]) == ["test-values", "welcome"]
    assert kinds(steps[3]) == []
    [told] = [message for message in steps[2].settled.messages if message.kind == "welcome"]
    assert told.receivers == ("c",)
    assert broken(steps) == []


@FENCED
def test_a_site_that_joins_with_more_than_the_leeway_leads_to_a_synchronisation(kind: type[Method]) -> None:
    both = {"a": {"x": 50}, "b": {"x": 50}}
    steps = run([method(kind, params(0.3), span=1)], [both, both, {**both, "c": {"x": 60}}])
    assert "reference" in kinds(steps[2])
    assert steps[2].settled.answers.column("estimate") == [160.0**2]
    assert broken(steps) == []


@FENCED
def test_sites_that_join_one_after_the_other_never_break_the_promise(kind: type[Method]) -> None:
    for seed in range(4):
        rng = Random(seed)
        drawn = skewed(rng, 9, 24)
        epochs = [
            {site: items for site, items in epoch.items() if int(site[1:]) <= at // 2} for at, epoch in enumerate(drawn)
        ]
        missing = {at: [f"s{rng.randrange(4)}"] for at in range(8, 24) if rng.random() < 0.25}
        error = 0.3 if seed % 2 else 0.0
        assert broken(run([method(kind, params(0.15, error), 5, seed=seed)], epochs, missing)) == []


@FENCED
def test_two_sites_that_each_pass_in_a_row_of_their_own_are_found_at_two_and_a_half_times_the_size(
    kind: type[Method],
) -> None:
    """Rows [[5, 0], [5, 0]] at both sites become [[10, 0], [5, 5]] and [[5, 5], [10, 0]], other cells being empty."""
    running = kind(
        replace(
            method(kind, params(0.5, 0.9), span=9, **({"growth": "none"} if kind is Convex else {})).ask, confidence=0.8
        )
    )
    rows = sizes_of(running.ask).rows
    assert rows is not None
    assert rows.depth == 2
    names = [f"item {number}" for number in range(500)]
    same = [rows.columns(row, rows.keys(names)) == rows.columns(row, rows.keys(names[:1])) for row in range(2)]
    x, y, z = names[0], names[int(np.argmax(same[0] & ~same[1]))], names[int(np.argmax(same[1] & ~same[0]))]
    steps = run([running], [{"a": {x: 5}, "b": {x: 5}}, {"a": {y: 5}, "b": {z: 5}}])
    assert [step.settled.answers.column("estimate") for step in steps] == [[100.0], [250.0]]
    assert broken(steps) == []


def test_the_border_itself_is_told() -> None:
    """Tolerance 3/4: a size of 16 may become 64, which is the border; after it 64 must be known."""
    steps = run([method(Convex, params(0.75), span=1)], [{"a": {"x": 4}}, {"a": {"x": 8}}, {"a": {"x": 8}}])
    assert [step.settled.answers.column("estimate") for step in steps] == [[16.0], [64.0], [64.0]]
