"""Constraints fed event by event: valid after every event, and the same protocol as in epochs."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.constraints import Constraints, ConstraintsOptions
from monitoring_lib.protocols.topk.constraints.feed import EventFeed
from monitoring_lib.protocols.topk.question import TopKParams
from tests.protocols.topk.driver import Run

SITES = ("a", "b", "c")
ITEMS = ("u", "\x00v", "w", "x", "y", "z")


def ask_of(options: dict[str, Any] | None = None, **params: Any) -> Ask:
    return Ask(TopKParams(**{"k": 2, **params}), ConstraintsOptions(**(options or {})))


def events(seed: int, count: int) -> list[tuple[int, int]]:
    chance = Random(seed)
    weights = [2.0**-rank for rank in range(len(ITEMS))]
    pool = list(range(len(ITEMS)))
    chance.shuffle(pool)
    return [(chance.randrange(len(SITES)), chance.choices(pool, weights)[0]) for _ in range(count)]


def push(feed: EventFeed, told: list[tuple[int, int]]) -> None:
    sites, items = np.array(told, np.int64).reshape(-1, 2).T
    feed.push(np.ascontiguousarray(sites), np.ascontiguousarray(items))


@pytest.mark.parametrize("tolerance", [0, 5])
def test_the_members_are_valid_after_every_event(tolerance: int) -> None:
    for seed in range(6):
        feed = EventFeed(ask_of(tolerance=Decimal(tolerance)), SITES, ITEMS)
        totals: Counter[str] = Counter()
        for site, item in events(seed, 150):
            push(feed, [(site, item)])
            totals[ITEMS[item]] += 1
            members = [name.replace("\0\0", "\0") for name in feed.members]
            lowest = min((totals[name] for name in members), default=0) if len(members) == 2 else 0
            best = max((count for name, count in totals.items() if name not in members), default=0)
            assert lowest + tolerance >= best


@pytest.mark.parametrize("options", [{}, {"held_back": 0}, {"long_list": None}, {"long_list": 0}])
def test_it_says_what_sites_and_coordinator_say_in_epochs_of_one_event(options: dict[str, Any]) -> None:
    for seed in range(3):
        ask = ask_of({**options, "split": "even"})
        feed, run = EventFeed(ask, SITES, ITEMS), Run(Constraints(ask))
        run.step({}, sites=SITES)
        for site, item in events(seed + 50, 120):
            push(feed, [(site, item)])
            run.step({SITES[site]: {ITEMS[item]: 1}}, sites=SITES)
        assert feed.messages == sum(len(settled.messages) for settled in run.settled)
        assert feed.entries == run.entries


def test_pushing_many_events_at_once_is_the_same_as_one_by_one() -> None:
    told = events(9, 400)
    one, other = EventFeed(ask_of(), SITES, ITEMS), EventFeed(ask_of(), SITES, ITEMS)
    push(one, told)
    for event in told:
        push(other, [event])
    assert (one.members, one.messages, one.entries) == (other.members, other.messages, other.entries)


def test_history_is_there_when_the_coordinator_first_asks() -> None:
    told = events(4, 500)
    sites, items = np.array(told[:400], np.int64).T
    feed = EventFeed(ask_of(), SITES, ITEMS, (np.ascontiguousarray(sites), np.ascontiguousarray(items)))
    push(feed, told[400:])
    counts = Counter(ITEMS[item] for _, item in told)
    assert sorted(counts[name.replace("\0\0", "\0")] for name in feed.members) == sorted(
        count for _, count in counts.most_common(2)
    )


def test_only_growing_counts_can_be_fed() -> None:
    with pytest.raises(ValueError, match="ask: only growing counts"):
        EventFeed(ask_of(signed=True), SITES, ITEMS)
    with pytest.raises(ValueError, match="ask: only growing counts"):
        EventFeed(Ask(TopKParams(k=1), ConstraintsOptions(), Window(length=3)), SITES, ITEMS)
