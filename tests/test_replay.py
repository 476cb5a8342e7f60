"""Epochs one after the other: who is there, what arrives and leaves, and what the judge says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.errors import DataError
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Method, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols import methods
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.replay import History, Replay, Step, is_partial
from monitoring_lib.summaries import Cell
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Mesh, Tree
from tests.laws.grouping import synopsis_of
from tests.laws.questions import EPOCH, makers
from tests.laws.toys import TOYS
from tests.summing import Telling, TellingForEver, TellingTotals, Total

CLOCK = Clock(1_000, 10)
GROWING = Window()


def caching(window: Window = GROWING, k: int = 2, tolerance: int = 0) -> Caching:
    return Caching(Ask(TopKParams(k=k, tolerance=Decimal(tolerance)), Caching.Options(), window))


def counts(**sums: int) -> Counts:
    return Counts.of_pairs(sums.items())


def step_all(replay: Replay, epoch: int, synopses: Mapping[str, Counts], missing: Collection[str] = ()) -> list[Step]:
    """The same synopses for every summary."""
    return replay.step(epoch, dict.fromkeys(synopses, ()), dict.fromkeys(replay.summaries, synopses), missing)


def step(replay: Replay, epoch: int, synopses: Mapping[str, Counts], missing: Collection[str] = ()) -> Step:
    return step_all(replay, epoch, synopses, missing)[0]


def silenced(method: Telling) -> Telling:
    """Its sites never speak."""
    method.site.observe = lambda *given: ()  # type: ignore[method-assign]
    return method


def totals(found: Mapping[str, Counts]) -> dict[str, Counts]:
    return {site: counts(total=int(each.sums.sum())) for site, each in found.items()}


def test_a_site_joins_the_roster_with_its_first_events_and_stays():
    replay = Replay(CLOCK, [caching()])
    rosters = [
        step(replay, epoch, synopses).moment.sites
        for epoch, synopses in enumerate([{"b": counts(x=1)}, {}, {"a": counts(x=1)}, {"c": counts(y=2)}])
    ]
    assert rosters == [("b",), ("b",), ("a", "b"), ("a", "b", "c")]


def test_sites_that_the_source_lists_are_there_from_the_first_epoch():
    replay = Replay(CLOCK, [caching()], sites=["z", "a"])
    assert step(replay, 0, {"m": counts(x=1)}).moment.sites == ("a", "m", "z")
    assert replay.sites == ("a", "m", "z")


def test_a_site_whose_name_looks_like_a_node_of_the_network_is_still_a_site():
    replay = Replay(CLOCK, [caching()])
    first = step(replay, 0, {"@coordinator": counts(x=1), "plain": counts(x=2)})
    assert first.moment.sites == ("@@coordinator", "plain")
    assert [row.estimate for row in first.settled.answers] == [3]
    absent = step(replay, 1, {"@coordinator": counts(x=1)}, missing=["@coordinator"])
    assert absent.moment.missing == {"@@coordinator"}
    assert absent.moment.sites == first.moment.sites


def test_a_site_without_anything_to_count_joins_where_its_events_landed():
    replay = Replay(CLOCK, [caching()])
    (found,) = replay.step(0, {"a": (), "b": ()}, {replay.summaries[0]: {"a": counts(x=1)}})
    assert found.moment.sites == ("a", "b")


def test_trees_follow_the_order_of_joining_and_grow_with_the_roster():
    class Trees(Telling):
        name = "trees"

        def topology(self, roster):
            return Tree.even(roster, 2)

    replay = Replay(CLOCK, [silenced(Trees())])
    step(replay, 0, {"m": counts(x=1), "z": counts(x=1)})
    step(replay, 1, {"a": counts(x=1)})
    found = step(replay, 2, {"b": counts(x=1)}).moment.topology
    assert isinstance(found, Tree)
    assert [list(found.children(f"@tree/1/{group}")) for group in range(2)] == [["m", "z"], ["a", "b"]]


def test_each_method_is_given_as_much_of_a_placement_as_it_asks_for():
    class Placed(Telling):
        name = "placed"

        def placement(self):
            return ("region",)

        def topology(self, roster):
            return Tree.by_placement(roster)

    class Flat(Telling):
        name = "flat"

        def topology(self, roster):
            assert set(roster.placements.values()) <= {()}
            return Mesh(roster.sites)

    class Deeper(Telling):
        name = "deeper"

        def placement(self):
            return ("region", "country")

        def topology(self, roster):
            return Tree.by_placement(roster)

    replay = Replay(CLOCK, [silenced(Placed()), silenced(Flat()), silenced(Deeper())])
    found = replay.step(0, {"oslo": ("north", "norway")}, {})
    placed, _, both = (each.moment.topology for each in found)
    assert placed.parents["oslo"] == '@branch/["north"]'
    assert both.parents["oslo"] == '@branch/["north", "norway"]'


def test_an_epoch_without_events_happens_and_changes_nothing_that_grows():
    replay = Replay(CLOCK, [caching()])
    first = step(replay, 0, {"a": counts(x=3, y=1)})
    second = step(replay, 1, {})
    assert second.settled.messages == []
    assert [(row.key, row.estimate) for row in second.settled.answers] == [("x", 3.0), ("y", 1.0)]
    assert second.moment.start == first.moment.end == CLOCK.start_of(1)
    assert all(verdict.kept for verdict in second.verdicts)


def test_a_sliding_window_gives_back_what_has_left_it():
    replay = Replay(CLOCK, [caching(Window(2))])
    steps = [step(replay, epoch, {"a": counts(**{f"i{epoch}": 5})}) for epoch in range(4)]
    assert [sorted(each.settled.answers.column("key")) for each in steps] == [
        ["i0"], ["i0", "i1"], ["i1", "i2"], ["i2", "i3"],
    ]  # fmt: skip


def test_a_reset_forgets_everything_before_it():
    replay = Replay(CLOCK, [caching(Window(reset=2))])
    steps = [step(replay, epoch, {"a": counts(**{f"i{epoch}": 5})}) for epoch in range(3)]
    assert [row.key for row in steps[2].settled.answers] == ["i2"]


def test_what_leaves_while_a_site_is_missing_leaves_when_it_is_back():
    history = History(ItemCounts(), Window(2))
    assert history.observe(0, {"a": counts(x=1)}, ["a"]) == ({"a": counts(x=1)}, {})
    assert history.observe(1, {"a": counts(x=2)}, ["a"])[1] == {}
    assert history.observe(2, {}, []) == ({}, {})
    assert history.observe(3, {}, []) == ({}, {})
    arriving, expiring = history.observe(4, {"a": counts(x=4)}, ["a"])
    assert arriving == {"a": counts(x=4)}
    assert list(expiring["a"]) == [("x", 3)]


def test_what_leaves_at_once_is_one_synopsis_of_all_of_it():
    history = History(ItemCounts(), Window(3))
    for epoch in range(3):
        history.observe(epoch, {"a": counts(**{f"i{epoch}": 1, "x": 1})}, ["a"])
    history.observe(3, {}, [])
    history.observe(4, {}, [])
    _, expiring = history.observe(5, {}, ["a"])
    assert list(expiring["a"]) == [("i0", 1), ("i1", 1), ("i2", 1), ("x", 3)]
    assert history.held["a"] == {}


def test_nothing_is_kept_for_a_window_that_only_grows():
    history = History(ItemCounts(), GROWING)
    assert history.observe(0, {"a": counts(x=1)}, ["a"]) == ({"a": counts(x=1)}, {})
    assert history.held == {}


def test_what_a_missing_site_counted_neither_arrives_nor_leaves():
    replay = Replay(CLOCK, [caching(Window(2))])
    step(replay, 0, {"a": counts(x=1), "b": counts(y=1)})
    absent = step(replay, 1, {"a": counts(x=100), "b": counts(y=1)}, missing=["a"])
    assert absent.moment.missing == {"a"}
    assert absent.moment.sites == ("a", "b")
    for epoch in range(2, 5):
        found = step(replay, epoch, {"a": counts(x=1), "b": counts(y=1)})
        assert all(verdict.kept for verdict in found.verdicts)
        assert max(row.high for row in found.settled.answers) <= 2


@pytest.mark.parametrize(
    ("window", "owed"),
    [
        (Window(), [False, True, True, True, True, True]),
        (Window(1), [False, True, False, False, False, False]),
        (Window(3), [False, True, True, True, False, False]),
        (Window(reset=3), [False, True, True, False, False, False]),
    ],
)
def test_events_that_are_set_aside_make_answers_partial_while_they_are_in_the_window(window: Window, owed: list[bool]):
    replay = Replay(CLOCK, [caching(window)])
    for epoch, expected in enumerate(owed):
        found = step(replay, epoch, {"a": counts(x=1), "b": counts(y=1)}, missing=["a"] if epoch == 1 else [])
        assert found.moment.owed == expected
        assert set(found.settled.answers.column("partial")) == {expected}
        assert all(verdict.kept for verdict in found.verdicts)


def test_a_site_that_is_missing_without_events_owes_nothing():
    replay = Replay(CLOCK, [caching()])
    step(replay, 0, {"a": counts(x=1), "b": counts(y=1)})
    found = step(replay, 1, {"b": counts(y=1)}, missing=["a"])
    assert found.moment.missing == {"a"}
    assert not found.moment.owed
    assert not found.settled.answers.any_partial


def judged(found: Step) -> tuple[float, float, bool, bool]:
    """Estimate, what it was compared with, whether partial, whether kept."""
    (row,), (verdict,) = found.settled.answers, found.verdicts
    return row.estimate, verdict.exact, row.partial, verdict.kept


def test_an_answer_that_is_not_partial_is_judged_against_all_that_landed():
    """Its window moves on at a site that is missing: only who owns up may still count what has left it."""
    for owns_up, expected in ((True, (7, 7, True, True)), (False, (7, 2, False, False))):
        replay = Replay(CLOCK, [Telling(Window(1), owns_up)])
        assert judged(step(replay, 0, {"a": counts(x=5), "b": counts(x=1)})) == (6, 6, False, True)
        assert judged(step(replay, 1, {"b": counts(x=2)}, missing=["a"])) == expected
        assert judged(step(replay, 2, {"a": counts(x=4)})) == (4, 4, False, True)


def test_a_partial_answer_is_judged_against_what_the_sites_took_in():
    replay = Replay(CLOCK, [Telling(Window(2), owns_up=False)])
    step(replay, 0, {"a": counts(x=5), "b": counts(x=1)})
    assert judged(step(replay, 1, {"a": counts(x=100), "b": counts(x=2)}, missing=["a"])) == (8, 8, True, True)
    assert judged(step(replay, 2, {"a": counts(x=4)})) == (6, 6, True, True)
    assert judged(step(replay, 3, {"a": counts(x=4)})) == (8, 8, False, True)


def test_a_wrong_answer_is_caught_whether_partial_or_not():
    replay = Replay(CLOCK, [silenced(Telling(Window(2)))])
    assert judged(step(replay, 0, {"a": counts(x=5), "b": counts(x=1)})) == (0, 6, False, False)
    assert judged(step(replay, 1, {"a": counts(x=5), "b": counts(x=2)}, missing=["a"])) == (0, 8, True, False)


def test_an_answer_without_rows_is_partial_where_a_site_is_missing():
    def moment(missing: str, owed: bool) -> Moment:
        return Moment(0, 0, 1, 0, Mesh(("a", "b")), ("a", "b"), frozenset(missing), owed)

    whole = Answers.of([Answer(COORDINATOR, 1, "", None, 0, 0, 0)])
    assert [is_partial(moment(missing, False), Answers.of()) for missing in ("", "a")] == [False, True]
    assert [is_partial(moment(missing, False), whole) for missing in ("", "a")] == [False, False]
    assert is_partial(moment("", False), whole.as_partial())
    assert is_partial(moment("", True), whole)


def test_methods_with_summaries_of_their_own_are_judged_against_the_questions():
    running = [Telling(Window(2)), TellingTotals(Window(2))]
    replay = Replay(CLOCK, running)
    assert replay.summaries == (ItemCounts(), Total())
    for epoch in range(4):
        landed = {"a": counts(x=epoch + 1, y=1), "b": counts(x=10)}
        given = {ItemCounts(): landed, Total(): totals(landed)}
        for found in replay.step(epoch, dict.fromkeys(landed, ()), given):
            expected = sum(int(each.sums.sum()) for each in landed.values()) + (11 + epoch if epoch else 0)
            assert judged(found) == (expected, expected, False, True)
    assert running[0].seen[3, "a"] == ([("x", 4), ("y", 1)], [("x", 2), ("y", 1)])
    assert running[1].seen[3, "a"] == ([("total", 5)], [("total", 3)])


def test_the_truths_summary_is_asked_for_even_if_no_method_takes_it_in():
    replay = Replay(CLOCK, [TellingTotals()])
    assert replay.summaries == (ItemCounts(), Total())
    landed = {"a": counts(x=1, y=1)}
    (found,) = replay.step(0, {"a": ()}, {ItemCounts(): landed, Total(): totals(landed)})
    assert judged(found) == (2, 2, False, True)


def test_a_method_that_needs_no_expiring_synopses_is_given_none_and_none_are_kept():
    alone = TellingForEver(Window(1))
    replay = Replay(CLOCK, [alone])
    for epoch in range(3):
        step(replay, epoch, {"a": counts(x=1)})
    assert [alone.seen[epoch, "a"] for epoch in range(3)] == [([("x", 1)], [])] * 3
    assert all(history.held == {} for history in replay._histories.values())


def test_a_method_that_needs_no_expiring_synopses_does_not_take_them_from_another():
    needs, does_not = Telling(Window(1)), TellingForEver(Window(1))
    replay = Replay(CLOCK, [does_not, needs])
    for epoch in range(3):
        found = step_all(replay, epoch, {"a": counts(x=1)})
    assert needs.seen[2, "a"] == ([("x", 1)], [("x", 1)])
    assert does_not.seen[2, "a"] == ([("x", 1)], [])
    assert [judged(each) for each in found] == [(3, 1, False, False), (1, 1, False, True)]


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
        steps = step_all(replay, epoch, {site: Counts.of_pairs(found.items()) for site, found in events.items()})
        assert [each.method for each in steps] == [kind.name for kind in kinds]
        exact: Counter[str] = Counter()
        for member in window.members(epoch):
            for found in past[member].values():
                exact.update(found)
        for each in steps:
            inside = {row.key for row in each.settled.answers}
            worst = min((exact[key] for key in inside), default=0) if len(inside) == 3 else 0
            assert all(total <= worst + tolerance for item, total in exact.items() if item not in inside)
            assert all(row.low <= exact[row.key] <= row.high for row in each.settled.answers)
            assert all(verdict.kept for verdict in each.verdicts), each.method


def test_a_method_says_the_same_alone_and_beside_another():
    def run(running: list[Method]) -> list[tuple[object, ...]]:
        replay, rng = Replay(CLOCK, running), np.random.default_rng(1)
        found: list[tuple[object, ...]] = []
        for epoch in range(8):
            synopses = {f"s{site}": counts(x=int(rng.integers(1, 9)), y=2) for site in range(3)}
            own = next(each for each in step_all(replay, epoch, synopses) if each.method == "caching")
            found.append((own.settled, own.verdicts))
        return found

    others = [kind for (question, name), kind in methods().items() if question == "top-k" and name != "caching"]
    ask = caching().ask
    assert run([caching()]) == run([*(kind(Ask(ask.params, kind.Options())) for kind in others), caching()])


@pytest.mark.parametrize("kind", TOYS)
@pytest.mark.parametrize("seed", range(4))
def test_a_mesh_and_a_tree_are_driven_and_judged_too(kind: type[Method], seed: int):
    maker, rng = makers()[kind.question.name], Random(seed)
    method = kind(maker.ask(rng, kind))
    clock, question = Clock(0, EPOCH), method.question
    replay = Replay(clock, [method])
    for epoch in range(12):
        cells = [
            Cell(f"s{site}", epoch, clock.start_of(epoch), clock.end_of(epoch), method.ask.tick)
            for site in range(9)
            if site <= epoch + 3 and rng.random() < 0.7
        ]
        events = {cell: maker.events(rng, method.ask, cell) for cell in cells}
        synopses = {
            summary: {cell.site: synopsis_of(summary, cell, found) for cell, found in events.items()}
            for summary in replay.summaries
        }
        sites = {cell.site: maker.placement(cell.site) for cell in cells}
        (found,) = replay.step(epoch, sites, synopses)
        certain = [verdict for verdict in found.verdicts if verdict.confidence == 1]
        assert len(found.verdicts) or not len(found.settled.answers), question.name
        assert all(verdict.kept for verdict in certain)


def test_a_sum_that_falls_below_zero_unannounced_is_an_error_not_an_answer():
    replay = Replay(CLOCK, [caching()])
    step(replay, 0, {"a": counts(x=1)})
    with pytest.raises(DataError, match="signed"):
        step(replay, 1, {"a": counts(x=-5)})
