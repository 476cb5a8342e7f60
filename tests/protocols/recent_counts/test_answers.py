"""What is published, against counts taken by hand and by brute force."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from monitoring_lib.errors import UsageError
from monitoring_lib.methods import LookUp, Method
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.recent_counts.every_update import EveryUpdate
from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.protocols.recent_counts.merged.view import cover
from tests.laws.grouping import rows_of
from tests.protocols.recent_counts.driver import EPOCH, TICKS, Driver, Event, ask, certainly_kept, rows

QUERIES: list[dict[str, Any]] = [
    {"name": "seven", "point": 7, "range": "5s"},
    {"name": "top", "heavy_hitters": 0.2, "range": "30s"},
    {"name": "low", "between": [0, 9], "range": "12s"},
    {"name": "middle", "quantiles": [0.5, 0.99], "range": "30s"},
    {"name": "skew", "self_join": True, "range": "30s"},
]
counters = pytest.mark.parametrize("counter", ["eh", "dw"])
both = pytest.mark.parametrize("kind", [Merged, EveryUpdate])


def stream(rng: Random, epoch: int, sites: int = 3, events: int = 60, items: int = 40) -> list[Event]:
    return [
        (f"s{rng.randrange(sites)}", epoch * TICKS + rng.randrange(TICKS), str(int(items * rng.random() ** 3)))
        for _ in range(events)
    ]


def counted(events: list[Event], end: int, span: int) -> Counter[str]:
    return Counter(item for _, tick, item in events if end - span <= tick < end)


@both
def test_a_range_ends_with_the_epoch_and_begins_inside_of_another(kind: type[Method]) -> None:
    driver = Driver(kind(ask([{"name": "x", "point": "x", "range": "12s"}], kind=kind)))
    driver.step([("a", 7, "x"), ("b", 8, "x"), ("a", 9, "y")])
    found = rows(driver.step([("b", 10, "x"), ("b", 19, "x")]))["x"]
    assert (found.estimate, found.low, found.high, found.rank, found.tick) == (3, 3, 3, None, 2 * EPOCH) or (
        kind is Merged and found.estimate == 3 and found.low <= 3 == found.high
    )


def test_every_update_gives_the_exact_rows_of_every_query() -> None:
    rng, seen = Random(1), list[Event]()
    driver = Driver(EveryUpdate(ask(QUERIES, bits=6, kind=EveryUpdate)))
    for epoch in range(8):
        events = stream(rng, epoch)
        seen += events
        found, end = rows(driver.step(events)), (epoch + 1) * TICKS
        recent = counted(seen, end, 30)
        assert found["seven"].estimate == counted(seen, end, 5)["7"]
        assert found["low"].estimate == sum(n for item, n in counted(seen, end, 12).items() if int(item) < 10)
        assert found["skew"].estimate == sum(n * n for n in recent.values())
        ordered = sorted(int(item) for item in recent.elements())
        assert found["middle:0.5"].estimate == ordered[-(-len(ordered) // 2) - 1]
        heavy = {item for item, n in recent.items() if 5 * n > len(ordered)}
        assert {key for key in found if key.startswith("top:")} == {f"top:{item}" for item in heavy}
        assert all(row.low == row.estimate == row.high and row.confidence == 1 for row in found.values())


@counters
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_every_query_keeps_its_promise_under_every_counter_and_depth(counter: str, levels: int) -> None:
    rng = Random(levels)
    driver = Driver(Merged(ask(QUERIES, bits=6, counter=counter, levels=levels)))
    broken = judged = 0
    for epoch in range(6):
        step = driver.step(stream(rng, epoch, sites=9))
        assert certainly_kept(step)
        broken += sum(not verdict.kept for verdict in step.verdicts)
        judged += len(step.verdicts)
    assert judged > 100
    assert broken <= 0.05 * judged


def test_randomised_waves_answer_all_but_the_self_join() -> None:
    rng, queries = Random(3), [query for query in QUERIES if "self_join" not in query]
    driver = Driver(Merged(ask(queries, error=0.4, bits=4, counter="rw", levels=2)))
    for epoch in range(3):
        step = driver.step(stream(rng, epoch, items=12))
        assert not [verdict for verdict in step.verdicts if not verdict.kept]


@both
def test_an_empty_range_gives_zeros_and_neither_quantiles_nor_heavy_hitters(kind: type[Method]) -> None:
    driver = Driver(kind(ask(QUERIES, bits=6, kind=kind)), ["a"])
    for _ in range(2):
        found = rows(driver.step())
        assert {key: row.estimate for key, row in found.items()} == {"seven": 0, "low": 0, "skew": 0}
        assert all((row.low, row.high) == (0, 0) for row in found.values())
    driver.step([("a", 20, "7")])
    assert {"seven", "low", "skew", "top:7", "middle:0.5", "middle:0.99"} == set(rows(driver.step()))
    driver.step()
    assert set(rows(driver.step())) == {"seven", "low", "skew"}


def test_items_that_are_no_whole_numbers_are_refused_where_bits_are_given() -> None:
    summary = EveryUpdate(ask(QUERIES, bits=6, kind=EveryUpdate)).summary()
    texts = ["0", "63", "64", "007", "-1", "", "1.0", "x", "18446744073709551616", "9"]
    refused = summary.refused(rows_of(summary, [{"tick": 0, "item": text} for text in sorted(texts)]))
    assert refused is not None
    kept = [text for text, bad in zip(sorted(texts), refused.to_pylist(), strict=True) if not bad]
    assert kept == ["0", "63", "9"]


def test_heavy_hitters_of_all_sites_are_candidates_of_one() -> None:
    """x is above 0.2 over both sites, at b alone far below it."""
    driver = Driver(Merged(ask([{"name": "top", "heavy_hitters": 0.2, "range": "10s"}], error=0.05)))
    here = [("a", 0, "x")] * 30 + [("a", 1, f"a{n}") for n in range(30)]
    there = [("b", 2, "x")] + [("b", 3, f"b{n}") for n in range(50)]
    found = rows(driver.step(here + there))
    assert [row.rank for row in found.values() if row.key == "top:x"] == [1]
    assert all(row.key == "top:x" or row.high > 0.2 * 111 for row in found.values())


def test_a_name_becomes_a_candidate_when_older_events_leave_the_range() -> None:
    driver = Driver(Merged(ask([{"name": "top", "heavy_hitters": 0.5, "range": "20s"}], error=0.05)))
    first = rows(driver.step([("a", 0, "old")] * 50 + [("a", 9, "x"), ("b", 9, "y")]))
    assert set(first) == {"top:old"}
    driver.step([("a", 10, "x"), ("a", 11, "x"), ("a", 12, "x")])
    silent = driver.step()
    assert set(rows(silent)) == {"top:x"}
    assert certainly_kept(silent)


def test_a_site_with_nothing_new_sends_nothing_and_its_counts_expire() -> None:
    driver = Driver(Merged(ask([{"name": "x", "point": "x", "range": "10s"}])))
    assert len(driver.step([("a", 5, "x"), ("b", 5, "x")]).settled.messages) == 2
    later = driver.step([("a", 15, "x")])
    assert [message.sender for message in later.settled.messages] == ["a"]
    assert rows(later)["x"].estimate == 1
    assert rows(driver.step())["x"].estimate == 0


def test_the_shorter_of_counters_and_counts_is_told() -> None:
    """Few counts are shorter than the counters that they change; many counts of few items over a long time are not."""
    queries = [{"name": "x", "point": "x", "range": "10s"}]
    driver = Driver(Merged(ask(queries, error=0.3, every=50)))
    letter = driver.method.letters[0]
    opening = driver.step([("a", 1, "x")]).settled.messages
    assert len(opening[0].delivery((letter,)).letter.log) == 1
    rng = Random(0)
    for epoch in range(1, 50):
        events = [("a", epoch * TICKS + tick, f"{rng.random()}") for tick in range(TICKS) for _ in range(30)]
        assert not driver.step(events).settled.messages
    [message] = driver.step().settled.messages
    told = message.delivery((letter,)).letter
    assert told.change
    assert not len(told.log)
    assert len(message.payload) < 15_000


def test_between_is_covered_by_blocks_that_do_not_overlap() -> None:
    for bits in (1, 2, 5):
        for first in range(1 << bits):
            for last in range(first, 1 << bits):
                blocks = cover(first, last, bits)
                members = [n for level, block in blocks for n in range(block << level, (block + 1) << level)]
                assert sorted(members) == list(range(first, last + 1))
                assert max(Counter(level for level, _ in blocks).values()) <= 2


@both
def test_the_stored_state_answers_a_point_and_a_range_that_no_query_names(kind: type[Method]) -> None:
    method = kind(ask([{"name": "x", "point": "x", "range": "10s"}], kind=kind))
    driver = Driver(method)
    driver.step([("a", tick, item) for tick in range(10) for item in "xyy"])
    moment = driver.step([("b", tick, "y") for tick in range(10, 20)]).moment
    role: Any = method.role(COORDINATOR)
    [row] = role.look_up(driver.root, moment, LookUp("y", 15_000_000))
    assert (row.key, row.estimate, row.tick) == ("y", 20, 2 * EPOCH)
    assert row.low <= 20 <= row.high
    [everything] = role.look_up(driver.root, moment, LookUp(None, None))
    assert everything.low <= 40 <= everything.high
    for wrong in (500_000, 31_000_000):
        with pytest.raises(UsageError, match="whole ticks"):
            role.look_up(driver.root, moment, LookUp("y", wrong))


@both
def test_the_stored_state_answers_queries_of_every_kind_over_other_ranges(kind: type[Method]) -> None:
    method, rng, seen = kind(ask(QUERIES, bits=6, kind=kind)), Random(2), list[Event]()
    driver = Driver(method)
    for epoch in range(4):
        events = stream(rng, epoch)
        seen += events
        moment = driver.step(events).moment
    role: Any = method.role(COORDINATOR)

    def found(span: int, **query: Any) -> dict[str, Any]:
        return {row.key: row for row in role.look_up(driver.root, moment, LookUp(None, span * 1_000_000, query))}

    recent = counted(seen, 40, 17)
    total = recent.total()
    [(key, row)] = found(17, between=[3, 20]).items()
    exact = sum(n for item, n in recent.items() if 3 <= int(item) <= 20)
    assert key == "between"
    assert row.low <= exact <= row.high
    [(key, row)] = found(17, self_join=True).items()
    assert key == "self_join"
    assert row.low <= sum(n * n for n in recent.values()) <= row.high
    ordered = sorted(int(item) for item in recent.elements())
    [(key, row)] = found(17, quantiles=[0.25]).items()
    assert key == "0.25"
    assert row.low <= ordered[-(-total // 4) - 1] <= row.high
    heavy = {item for item, n in counted(seen, 40, 30).items() if n > 0.25 * counted(seen, 40, 30).total()}
    assert heavy <= set(found(30, heavy_hitters=0.25))


def test_what_stored_sketches_cannot_answer_is_refused_with_the_reason() -> None:
    method = Merged(ask([{"name": "top", "heavy_hitters": 0.2, "range": "10s"}]))
    driver = Driver(method)
    moment = driver.step([("a", 1, "x")]).moment
    role: Any = method.role(COORDINATOR)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"heavy_hitters": 0.1}, r"0\.2 over 10s"),
        ({"between": [0, 3]}, "bits"),
        ({"quantiles": [1.5]}, "quantiles"),
        ({"self_join": True, "point": "x"}, "exactly one"),
        ({"median": True}, "median"),
    ]
    for query, words in wrong:
        with pytest.raises(UsageError, match=words):
            role.look_up(driver.root, moment, LookUp(None, 10_000_000, query))
    with pytest.raises(UsageError, match=r"0\.2 over 10s"):
        role.look_up(driver.root, moment, LookUp(None, 20_000_000, {"heavy_hitters": 0.5}))
    assert [row.key for row in role.look_up(driver.root, moment, LookUp(None, 10_000_000, {"heavy_hitters": 0.5}))] == [
        "x"
    ]
