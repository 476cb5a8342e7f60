"""Trees as monitors say them, what is wrong with some, and nodes that are missing, join or move."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Method
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.frequent_items.bounds import Bounds
from monitoring_lib.protocols.frequent_items.gradient import Gradient
from monitoring_lib.protocols.frequent_items.question import FrequentItems
from monitoring_lib.protocols.frequent_items.trees import TreeParams, tree_faults, tree_of
from monitoring_lib.topology import Roster, Tree
from tests.protocols.frequent_items.driver import broken, items, loads, method, run, total


def tree(params: dict[str, Any], *sites: str, places: dict[str, tuple[str, ...]] | None = None) -> dict[str, str]:
    roster = Roster().joined({site: (places or {}).get(site, ()) for site in sites})
    return dict(tree_of(TreeParams(**params), roster).parents)


def test_an_even_tree_of_fanout_6_is_the_default() -> None:
    sites = [f"s{number}" for number in range(7)]
    assert tree({}, *sites) == tree({"fanout": 6}, *sites)
    assert tree({}, *sites[:6]) == dict.fromkeys(sites[:6], COORDINATOR)


def test_given_parents_hang_what_they_do_not_name_on_the_root() -> None:
    given = {
        "parents": {
            "a": "west",
            "b": "west",
            "west": "all",
            "all": "root",
            "c": "root",
            "nobody": "empty",
            "empty": "root",
        }
    }
    assert tree(given, "a", "b", "c", "d") == {
        "a": "@node/west", "b": "@node/west", "@node/west": "@node/all", "@node/all": COORDINATOR,
        "c": COORDINATOR, "d": COORDINATOR,
    }  # fmt: skip


def test_a_site_may_have_the_name_of_an_inner_node_or_begin_with_an_at() -> None:
    given = {"parents": {"hub": "root", "a": "hub", "@b": "hub", "root site": "root"}}
    assert tree(given, "a", "hub", "@@b") == {
        "a": "@node/hub", "@node/hub": COORDINATOR, "hub": "@node/hub", "@@b": "@node/hub",
    }  # fmt: skip


def test_levels_are_columns_of_the_source() -> None:
    running = method(tree={"levels": ["region", "city"]})
    assert running.placement() == ("region", "city")
    places = {"a": ("north", "x"), "b": ("north", ""), "c": ("", "x")}
    step = run(running, [{"a": {"i": 1}, "b": {"i": 2}, "c": {"i": 4}}], places=places)[0]
    assert isinstance(step.moment.topology, Tree)
    assert [step.moment.topology.level(site) for site in "abc"] == [3, 2, 1]
    assert total(step) == 7
    assert method(tree={"fanout": 2}).placement() == ()


@pytest.mark.parametrize(
    ("params", "path", "problem"),
    [
        ({"fanout": 3, "levels": ["a"]}, ("tree",), "only one of them"),
        ({"parents": {"a": "west"}}, ("tree", "parents", "a"), "hangs on 'west', which hangs on nothing"),
        ({"parents": {"root": "a", "a": "root"}}, ("tree", "parents", "root"), "nothing is above the root"),
        ({"parents": {"a": "b", "b": "c", "c": "b"}}, ("tree", "parents", "b"), "leads back to itself"),
    ],
)
def test_faults_of_a_tree_name_key_and_remedy(params: dict[str, Any], path: tuple[str, ...], problem: str) -> None:
    [fault] = tree_faults(TreeParams(**params))
    assert fault.path == path
    assert problem in fault.problem
    assert fault.remedy


def test_numbers_name_sites_and_nodes_as_they_stand_and_levels_are_expressions() -> None:
    given: dict[str, Any] = {"parents": {10: 1, 1: "root"}}
    assert TreeParams(**given).parents == {"10": "1", "1": "root"}
    with pytest.raises(ValidationError, match="the text ends"):
        TreeParams(levels=("concat(region",))


def test_an_error_above_the_support_is_a_fault() -> None:
    [fault] = FrequentItems().faults(method("0.01", "0.02").ask)
    assert (fault.path, fault.problem) == (("error",), "is 0.02, more than the support of 0.01")
    assert not list(FrequentItems().faults(method("0.01", "0.01").ask))


def test_only_growing_windows_are_offered() -> None:
    assert FrequentItems.windows == {"growing", "reset"}


SITES = {f"s{number}": {"a": 10, f"own {number}": 3} for number in range(9)}


@pytest.mark.parametrize("kind", [Bounds, Gradient])
def test_a_missing_site_makes_answers_partial_and_its_counts_are_not_in_them(kind: type[Method]) -> None:
    silent = {site: dict[str, int]() for site in SITES}
    steps = run(method("0.2", "0.05", kind=kind, tree={"fanout": 2}), [SITES, SITES, silent], missing={1: ["s0", "s3"]})
    assert broken(steps) == []
    assert [step.settled.answers.any_partial for step in steps] == [False, True, True]  # what is owed stays owed
    assert [total(step) for step in steps] == [117, 117 + 91, 117 + 91]


@pytest.mark.parametrize("kind", [Bounds, Gradient])
def test_a_missing_site_that_had_nothing_to_say_owes_nothing(kind: type[Method]) -> None:
    without = {**SITES, "s0": {}}
    steps = run(method("0.2", "0.05", kind=kind), [without, without, SITES], missing={1: ["s0"]})
    assert [step.settled.answers.any_partial for step in steps] == [False, True, False]
    assert broken(steps) == []


@pytest.mark.parametrize("kind", [Bounds, Gradient])
@pytest.mark.parametrize("strategy", ["worst-case", "mixed"])
def test_sites_that_join_deepen_the_tree_and_nothing_breaks(kind: type[Method], strategy: str) -> None:
    options = {"strategy": strategy} if kind is Gradient else {}
    epochs = [dict(list(SITES.items())[: 2 + 2 * epoch]) for epoch in range(4)] + [SITES] * 3
    steps = run(method("0.2", "0.1", "0.9", {"fanout": 2}, kind, **options), epochs)
    depths = {step.moment.topology.depth for step in steps}
    assert len(depths) > 2
    assert broken(steps) == []
    assert all("a" in items(step) for step in steps)


def told(step: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(m.sender, m.receivers) for m in step.settled.messages if m.kind == "commonality"]


def test_the_commonality_is_measured_once_and_every_node_is_told_once() -> None:
    silent = {site: dict[str, int]() for site in SITES}
    steps = run(method("0.2", "0.1", kind=Gradient, strategy="mixed", tree={"fanout": 3}), [silent, SITES, SITES])
    assert told(steps[0]) == []
    reached = [node for _, receivers in told(steps[1]) for node in receivers]
    assert sorted(reached) == sorted(node for node in steps[1].moment.topology.nodes if node != COORDINATOR)
    assert told(steps[2]) == []
    kinds = [{m.kind for m in step.settled.messages} for step in steps]
    assert kinds == [set(), {"sample-counts", "commonality"}, {"lowered-counts"}]
    assert loads(steps[1])[0] == 3 * (1 + 3)


def test_who_was_away_or_joins_is_told_later_and_sends_all_its_counts_until_then() -> None:
    running = method("0.2", "0.1", kind=Gradient, strategy="mixed", tree={"fanout": 9})
    later = {**SITES, "late": {"a": 5, "b": 1}}
    steps = run(running, [SITES, later, later], missing={0: ["s1"]})
    assert told(steps[0]) == [(COORDINATOR, tuple(sorted(SITES)))]
    assert COORDINATOR in {sender for sender, _ in told(steps[1])}
    kinds = {m.sender: m.kind for m in steps[1].settled.messages if m.round == 0}
    assert kinds["late"] == "sample-counts"
    assert kinds["s1"] == "lowered-counts"  # it found the letter when it was back
    assert broken(steps) == []


def test_the_commonality_of_alike_sites_is_1_and_of_unlike_ones_0() -> None:
    from monitoring_lib.protocols.frequent_items.gradient.letters import Commonality

    def measured(sites: dict[str, dict[str, int]], error: str = "0.3") -> float:
        step = run(method("0.5", error, kind=Gradient, strategy="mixed", tree={"fanout": 2}), [sites])[0]
        letters = [m.delivery((Commonality,)).letter for m in step.settled.messages if m.kind == "commonality"]
        assert len({letter.commonality for letter in letters}) == 1
        return letters[0].commonality

    assert measured({s: {"x": 5, "y": 5, "z": 1} for s in "abcd"}) == 1
    assert measured({s: {f"only {s}": 5} for s in "abcd"}) == 0
    # x is frequent at both, and of the whole; y only at b: the mean of 1 and 1/2
    assert measured({"a": {"x": 10}, "b": {"x": 5, "y": 5}}) == 0.75
    assert measured({"a": {f"{i}": 1 for i in range(10)}}) == 0


@pytest.mark.parametrize("kind", [Bounds, Gradient])
def test_a_chain_goes_on_with_another_support_or_tree_and_a_larger_error(kind: type[Method]) -> None:
    before = method("0.2", "0.05", "0.9", kind=kind).ask

    def goes_on(**changed: Any) -> bool:
        return kind(replace(before, params=before.params.model_copy(update=changed))).continues(before)

    assert goes_on(support=Decimal("0.3"), error=Decimal("0.06"), tree=TreeParams(fanout=2))
    assert not goes_on(error=Decimal("0.04"))
    assert not goes_on(decay=Decimal("0.8"))
    assert not kind(replace(before, window=Window(reset=3))).continues(before)
    assert not kind(replace(before, scale=10)).continues(before)


def test_only_bounds_go_on_with_other_options() -> None:
    raw, upper = (method(send=send) for send in ("raw", "upper"))
    assert upper.continues(raw.ask)
    a, b = (method(kind=Gradient, algorithm=algorithm) for algorithm in "ab")
    assert not a.continues(b.ask)
