"""What each toy family shows beyond the laws: the thing that it is there for, looked at from close by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from monitoring_lib.codec import encode
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.network import COORDINATOR
from monitoring_lib.replay import Replay, Step
from monitoring_lib.summaries import Cell, Intake, Measure, Rows
from monitoring_lib.synopses.fm import FM
from monitoring_lib.topology import Tree
from tests.laws.grouping import rows_of, synopsis_of
from tests.laws.questions import EPOCH, Event, makers
from tests.laws.toys import TOYS
from tests.laws.toys.adding_up import AddingUp
from tests.laws.toys.distinct_items import Sketched, Sketching, SketchOptions
from tests.laws.toys.event_total import GrowingTree
from tests.laws.toys.recent_count import RecentParams
from tests.laws.toys.shared_total import Broadcasting
from tests.laws.toys.sketched_ranges import RangeOptions, SketchedRanges
from tests.laws.toys.telling_names import Exact
from tests.laws.toys.telling_pairs import TellingPairs

CLOCK = Clock(0, EPOCH)


class Telling:
    """A replay that is told events."""

    def __init__(self, *methods: Method) -> None:
        self.replay, self.tick, self.epoch = Replay(CLOCK, methods), methods[0].ask.tick, -1

    def step(self, events: Mapping[str, Sequence[Event]], missing: Collection[str] = ()) -> list[Step]:
        self.epoch += 1
        at = self.epoch, CLOCK.start_of(self.epoch), CLOCK.end_of(self.epoch), self.tick
        synopses = {
            summary: {site: synopsis_of(summary, Cell(site, *at), found) for site, found in events.items()}
            for summary in self.replay.summaries
        }
        steps = self.replay.step(self.epoch, dict.fromkeys(events, ()), synopses, missing)
        for step in steps:
            assert [verdict for verdict in step.verdicts if verdict.confidence == 1 and not verdict.kept] == []
        return steps


def ask(options: Keys, params: Keys | None = None, window: Window | None = None, tick: int = EPOCH, **more: Any) -> Ask:
    window = window or Window()
    span = None if window.length is None else window.length * EPOCH // tick
    return Ask(params or Keys(), options, window, epoch=EPOCH, tick=tick, span=span, **more)


def estimates(step: Step) -> list[float]:
    return step.settled.answers.column("estimate")


def any_of(count: int) -> list[Event]:
    return [{"item": "any"}] * count


def test_pairs_are_not_texts_put_together() -> None:
    (step,) = Telling(TellingPairs(ask(Keys()))).step({"a": [{"item": "aa", "by": "a"}, {"item": "a", "by": "aa"}]})
    assert estimates(step) == [2]


def test_the_two_keys_of_a_pair_are_named_by_two_expressions() -> None:
    summary = TellingPairs(ask(Keys())).summary()
    one, other = ({"item": "url", "by": "user"}, {"item": "user", "by": "url"})
    assert Intake(summary, one, 1).name != Intake(summary, other, 1).name


def test_nulls_are_no_readings_where_every_reading_is_20() -> None:
    readings: list[Event] = [{"tick": 0, "item": "m", "value": value} for value in (20, None, 20, None)]
    for reduction in ("last", "mean"):
        method = AddingUp(ask(Keys(), None, Window(1), EPOCH // 6, measure=Measure(reduction, "value")))
        (step,) = Telling(method).step({"a": readings, "b": [{"tick": 3, "item": "n", "value": None}]})
        assert [(row.tick, row.estimate) for row in step.settled.answers] == [(EPOCH // 6, 20)]


@pytest.mark.parametrize("seed", range(5))
def test_a_sketch_is_the_same_bytes_whatever_the_parts_of_a_cell_were(seed: int) -> None:
    rng, summary, cell = Random(seed), Sketched(32, seed), Cell("a", 0, 0, EPOCH, EPOCH)
    events: list[Event] = [{"item": str(rng.randint(0, 200))} for _ in range(300)]
    parts: list[list[Event]] = [[] for _ in range(rng.randint(1, 6))]
    for event in events:
        rng.choice(parts).append(event)
    built = [summary.build(cell, rows_of(summary, part)) for part in rng.sample(parts, len(parts))]
    assert encode(summary.merge(built)) == encode(summary.build(cell, rows_of(summary, events)))
    assert encode(summary.empty(cell)) == encode(FM.of_size(32, seed=seed))


def test_a_sketch_is_judged_by_the_items_and_its_shadow_is_exact() -> None:
    sketching = Sketching(ask(SketchOptions(bitmaps=2, seed=3)))
    telling = Telling(sketching, Exact(ask(Exact.Options())))
    assert len(telling.replay.summaries) == 2
    sketched, exact = telling.step({site: [{"item": f"{site}{n % 70}"} for n in range(500)] for site in "ab"})
    assert estimates(exact) == [140]
    assert exact.verdicts.column("exact") == sketched.verdicts.column("exact") == [140]
    assert estimates(sketched) != [140], "two bitmaps are too few"
    assert sketched.verdicts.column("confidence") == [0.95]


def test_two_sizes_of_a_sketch_have_two_names() -> None:
    names = {Intake(Sketched(bitmaps, seed), {"item": "x"}, 1).name for bitmaps in (16, 64) for seed in (0, 1)}
    assert len(names) == 4


def test_a_range_slides_by_time_alone_and_nothing_is_kept_for_it() -> None:
    params = RecentParams(watched="x", range=6)
    telling = Telling(SketchedRanges(ask(RangeOptions(), params, Window(2), EPOCH // 4)))
    found = [telling.step({"a": [{"tick": tick, "item": "x"} for tick in (0, 1, 2, 3)]})]
    found += [telling.step({}) for _ in range(3)]
    assert [estimates(step) for (step,) in found] == [[4], [2], [0], [0]]
    assert [len(step.settled.messages) for (step,) in found] == [1, 1, 1, 0]
    assert all(history.held == {} for history in telling.replay._histories.values())


def test_a_silent_branch_holds_nobody_and_a_late_joiner_moves_nobody() -> None:
    telling = Telling(GrowingTree(ask(GrowingTree.Options())))
    (first,) = telling.step({site: any_of(1) for site in "defg"})
    before = first.moment.topology
    (second,) = telling.step({"a": any_of(5)})
    assert isinstance(before, Tree)
    assert isinstance(second.moment.topology, Tree)
    assert estimates(second) == [9]
    assert [(m.round, m.sender) for m in second.settled.messages] == [(0, "a"), (1, "@tree/1/2"), (2, "@tree/2/1")]
    assert {site: second.moment.topology.parents[site] for site in "defg"} == {
        site: before.parents[site] for site in "defg"
    }
    (third,) = telling.step({site: any_of(1) for site in "adefg"})
    inner = [m.sender for m in third.settled.messages if m.sender.startswith("@")]
    assert len(inner) == len(set(inner)) == 5, "each inner node but the root speaks once"
    assert [m.round for m in third.settled.messages if m.receivers == (COORDINATOR,)] == [2, 2]
    assert estimates(third) == [14]


def test_a_site_that_was_missing_is_told_what_it_did_not_hear() -> None:
    telling = Telling(Broadcasting(ask(Broadcasting.Options())))
    (first,) = telling.step({site: any_of(1) for site in "abc"})
    assert [m.links for m in first.settled.messages] == [2, 2, 2]
    (absent,) = telling.step({"a": any_of(4)}, missing=["c"])
    assert [m.receivers for m in absent.settled.messages] == [("b",)]
    assert {row.node: (row.estimate, row.partial) for row in absent.settled.answers} == {"a": (7, True), "b": (7, True)}
    (back,) = telling.step({})
    assert {(m.sender, m.receivers) for m in back.settled.messages} == {("a", ("c",)), ("b", ("c",))}
    assert {row.node: (row.estimate, row.partial) for row in back.settled.answers} == dict.fromkeys("abc", (7, False))


@pytest.mark.parametrize("kind", TOYS, ids=lambda kind: kind.name)
def test_every_toy_says_what_an_installed_family_says(kind: type[Method]) -> None:
    method = kind(makers()[kind.question.name].ask(Random(1), kind))
    question = method.question
    assert kind.__doc__ or question.__doc__
    assert question.promise(method.ask)
    assert question.meaning(method.ask)
    assert question.windows <= {"growing", "reset", "sliding"}
    assert {question.default_method, question.baseline} <= {
        toy.name for toy in TOYS if toy.question.name == question.name
    }
    nothing = Rows.none(method.summary())
    assert set(nothing.keys) == set(method.summary().keys)
