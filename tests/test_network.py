"""Topologies, stamps, and the rounds in which an epoch settles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring_lib.errors import CodecError, ProtocolError
from monitoring_lib.network import ALL, COORDINATOR, Letter, Message, Post, is_site, node_of_site, site_of_node
from monitoring_lib.settling import settle, stamp
from monitoring_lib.topology import Mesh, Roster, Star, Topology, Tree

SITES = ("a", "b", "c", "d", "e")


def roster_of(*sites: str) -> Roster:
    """Sites that joined one after the other."""
    roster = Roster()
    for site in sites:
        roster = roster.joined({site: ()})
    return roster


TREE = Tree.even(roster_of(*SITES), fanout=2)
topologies = pytest.mark.parametrize("topology", [Star(SITES), Mesh(SITES), TREE], ids=["star", "mesh", "tree"])


@dataclass(slots=True)
class SomeNews(Letter, tag=1, version=1):
    words: list[str] = field(default_factory=list)

    @property
    def entries(self) -> int:
        return len(self.words)


@dataclass(slots=True)
class Ping(Letter, tag=2, version=1):
    pass


@given(st.text(), st.text())
def test_every_site_name_has_a_node_name_of_its_own(one: str, other: str) -> None:
    assert site_of_node(node_of_site(one)) == one
    assert is_site(node_of_site(one))
    assert (node_of_site(one) == node_of_site(other)) == (one == other)
    assert node_of_site(one) not in (COORDINATOR, ALL, "@tree/1/0")


@pytest.mark.parametrize("site", ["@coordinator", "@all", "*", "@", "@@", "@@coordinator", "@tree/1/0", ""])
def test_a_site_may_be_called_like_a_node_that_is_none(site: str) -> None:
    node = node_of_site(site)
    assert is_site(node)
    star = Star((node, "other"))
    (message,) = stamp(star, (), 0, 0, COORDINATOR, [Post(node, Ping())])
    assert message.receivers == (node,)
    (message,) = stamp(star, (), 0, 0, COORDINATOR, [Post(ALL, Ping())])
    assert message.receivers == tuple(sorted((node, "other")))


def test_inner_nodes_are_no_sites() -> None:
    assert not is_site(COORDINATOR)
    assert not is_site(ALL)
    assert not is_site("@tree/1/0")


@topologies
def test_edges_go_both_ways_and_are_those_of_the_neighbours(topology: Topology) -> None:
    for one in topology.nodes:
        assert {other for other in topology.nodes if topology.linked(one, other)} == set(topology.neighbours(one))
        for other in topology.nodes:
            assert topology.linked(one, other) == topology.linked(other, one)
        assert not topology.linked(one, one)


@topologies
def test_nobody_outside_the_topology_has_an_edge(topology: Topology) -> None:
    for stranger in ("stranger", "@stranger", ALL, "", "@tree/9/9"):
        assert not any(topology.linked(node, stranger) or topology.linked(stranger, node) for node in topology.nodes)
    assert not topology.linked("stranger", "other stranger")


def test_a_star_links_sites_to_the_coordinator_only() -> None:
    star = Star(SITES)
    assert star.inner == [COORDINATOR]
    assert star.linked("a", COORDINATOR)
    assert not star.linked("a", "b")


def test_a_mesh_links_sites_to_each_other_and_has_nobody_else() -> None:
    mesh = Mesh(SITES)
    assert mesh.inner == []
    assert mesh.linked("a", "e")
    assert not mesh.linked("a", COORDINATOR)


def test_an_even_tree_groups_sites_in_the_order_of_their_joining_up_to_the_root() -> None:
    assert TREE.children("@tree/1/0") == ["a", "b"]
    assert TREE.children("@tree/1/2") == ["e"]
    assert TREE.children(COORDINATOR) == ["@tree/2/0", "@tree/2/1"]
    assert [TREE.level(node) for node in ("a", "@tree/1/0", "@tree/2/0", COORDINATOR)] == [3, 2, 1, 0]
    assert TREE.inner == ["@tree/1/0", "@tree/1/1", "@tree/1/2", "@tree/2/0", "@tree/2/1", COORDINATOR]
    assert not TREE.linked("a", COORDINATOR)
    assert not TREE.linked("@tree/1/0", "@tree/1/1")
    late = Tree.even(roster_of("e", "a", "d"), fanout=2)
    assert late.children("@tree/1/0") == ["e", "a"], "not by name"


@pytest.mark.parametrize(("sites", "fanout", "depth"), [(0, 2, 0), (1, 2, 1), (4, 4, 1), (5, 4, 2), (1000, 10, 3)])
def test_no_node_of_an_even_tree_has_more_children_than_the_fanout(sites: int, fanout: int, depth: int) -> None:
    tree = Tree.even(roster_of(*(f"site {number}" for number in range(sites))), fanout)
    assert max(len(tree.children(node)) for node in tree.inner) <= fanout
    assert {tree.level(node) for node in tree.nodes if is_site(node)} <= {depth}
    assert tree.depth == max(depth, 1)


def test_a_tree_needs_a_fanout_of_two() -> None:
    with pytest.raises(ValueError, match=r"fanout: .* found 1"):
        Tree.even(roster_of(*SITES), 1)


def groups(tree: Tree, sites: Sequence[str], height: int) -> set[frozenset[str]]:
    """The sites, by the node so many steps above them, or by the root where the tree ends before."""
    found: dict[str, set[str]] = {}
    for site in sites:
        node = site
        for _ in range(height):
            node = tree.parents.get(node, COORDINATOR)
        found.setdefault(node, set()).add(site)
    return {frozenset(group) for group in found.values()}


@given(st.integers(2, 4), st.permutations([f"s{number}" for number in range(40)]))
def test_no_site_of_an_even_tree_changes_its_group_when_others_join(fanout: int, names: list[str]) -> None:
    roster = Roster()
    before: Tree | None = None
    for name in names:
        known, roster = roster.nodes, roster.joined({name: ()})
        tree = Tree.even(roster, fanout)
        if before is not None:
            for height in range(1, before.depth + 1):
                assert groups(before, known, height) == groups(tree, known, height)
            # only where the root has run full do its children get a node between them and the root
            moved = {node for node, parent in before.parents.items() if tree.parents[node] != parent}
            assert moved in (set(), set(before.children(COORDINATOR)))
            assert not moved or len(before.children(COORDINATOR)) == fanout
        before = tree


def test_a_roster_keeps_the_order_of_joining_and_those_of_one_epoch_by_name() -> None:
    first = Roster().joined({"z": (), "m": ()})
    second = first.joined({"a": ("here",), "m": ("elsewhere",)})
    assert (first.nodes, second.nodes) == (("m", "z"), ("m", "z", "a"))
    assert second.sites == ("a", "m", "z")
    assert second.placements == {"m": (), "z": (), "a": ("here",)}, "who is known keeps its place"
    assert second.joined({"a": ("moved",)}) is second
    assert first.nodes == ("m", "z"), "a roster does not change"


def test_who_leaves_the_roster_may_join_again_at_the_end() -> None:
    roster = roster_of("a", "b", "c").without({"a", "stranger"})
    assert roster.nodes == ("b", "c")
    assert roster.joined({"a": ("x",)}).nodes == ("b", "c", "a")
    assert roster.joined({"a": ("x",)}).placements["a"] == ("x",)


PLACED = Roster().joined({
    "oslo": ("north", "norway"), "bergen": ("north", "norway"), "turku": ("north", "finland"),
    "rome": ("south", "italy"), "boat": ("north", ""), "moon": ("", "far"), "anywhere": (),
})  # fmt: skip
NORTH, NORWAY = '@branch/["north"]', '@branch/["north", "norway"]'


def test_a_tree_by_placement_has_a_node_for_each_text_below_those_before_it() -> None:
    tree = Tree.by_placement(PLACED)
    assert tree.children(NORWAY) == ["bergen", "oslo"]
    assert sorted(tree.children(NORTH)) == ['@branch/["north", "finland"]', NORWAY, "boat"]
    assert sorted(tree.children(COORDINATOR)) == [NORTH, '@branch/["south"]', "anywhere", "moon"]
    assert [tree.height(node) for node in ("oslo", NORWAY, NORTH, COORDINATOR)] == [0, 1, 2, 3]
    assert not any(is_site(node) for node in tree.inner)


def test_branches_of_texts_that_look_alike_are_not_the_same() -> None:
    odd = {"1": ("a", "b"), "2": ('a", "b',), "3": ('["a"]',), "4": ("é\n", "@all"), "5": ("e\n", "@all")}
    tree = Tree.by_placement(Roster().joined(odd))
    assert len({tree.parents[node] for node in odd}) == len(odd)
    assert all(tree.level(node) == 1 + len(texts) for node, texts in odd.items())


def test_a_tree_by_placement_does_not_depend_on_who_joined_when() -> None:
    early = Roster()
    for node in sorted(PLACED.nodes, reverse=True):
        early = early.joined({node: PLACED.placements[node]})
    assert Tree.by_placement(early).parents == Tree.by_placement(PLACED).parents
    assert Tree.by_placement(early).inner == Tree.by_placement(PLACED).inner


def test_the_height_of_a_node_is_the_way_to_its_farthest_site() -> None:
    tree = Tree({"a": COORDINATOR, "b": "@x", "@x": COORDINATOR, "c": "@y", "@y": "@z", "@z": COORDINATOR, "@w": "@z"})
    assert {node: tree.height(node) for node in tree.nodes} == {
        "a": 0, "b": 0, "c": 0, "@x": 1, "@y": 1, "@w": 1, "@z": 2, COORDINATOR: 3,
    }  # fmt: skip
    assert tree.depth == 3
    assert tree.inner == ["@w", "@x", "@y", "@z", COORDINATOR], "those nearest to the sites first"


@given(st.integers(0, 30), st.integers(2, 5))
def test_every_child_is_less_high_than_its_parent(sites: int, fanout: int) -> None:
    tree = Tree.even(roster_of(*(f"s{number}" for number in range(sites))), fanout)
    assert all(tree.height(child) < tree.height(parent) for child, parent in tree.parents.items())
    for node in tree.inner:
        below = [tree.height(child) + 1 for child in tree.children(node)]
        assert tree.height(node) == max([1, *below])


def test_parents_that_do_not_lead_to_the_root_are_refused() -> None:
    with pytest.raises(ValueError, match="does not lead to the root"):
        Tree({"a": "@x", "@x": "@y", "@y": "@x"}).height("a")


def test_a_star_is_one_deep_and_a_mesh_has_no_depth() -> None:
    assert (Star(SITES).depth, Star(()).depth, Mesh(SITES).depth, Tree({}).depth) == (1, 1, 0, 1)


def test_a_letters_kind_is_its_name_in_plain_words() -> None:
    assert (SomeNews.kind(), Ping.kind()) == ("some-news", "ping")


def test_a_stamp_records_who_what_why_and_how_much() -> None:
    posts = [Post(COORDINATOR, SomeNews(["x", "y"]), "drifted"), Post(COORDINATOR, Ping())]
    first, second = stamp(Star(SITES), (), epoch=7, round_=2, sender="b", posts=posts)
    assert (first.epoch, first.round, first.sender, first.position, first.receivers) == (7, 2, "b", 0, (COORDINATOR,))
    assert (first.kind, first.reason, first.entries, first.bytes) == ("some-news", "drifted", 2, len(first.payload))
    assert (second.position, second.kind, second.entries) == (1, "ping", 1)
    assert first.delivery((SomeNews, Ping)).letter == SomeNews(["x", "y"])
    assert first.delivery((SomeNews, Ping)).sender == "b"


def test_a_letter_the_method_does_not_know_cannot_be_delivered() -> None:
    (message,) = stamp(Star(SITES), (), 0, 0, "b", [Post(COORDINATOR, Ping())])
    with pytest.raises(CodecError, match="none of SomeNews"):
        message.delivery((SomeNews,))


@topologies
def test_a_post_to_all_is_one_message_to_every_neighbour_whatever_the_roster_order(topology: Topology) -> None:
    for node in topology.nodes:
        messages = stamp(topology, (), 0, 0, node, [Post(ALL, SomeNews(["x"])), Post(ALL, Ping())])
        assert [message.receivers for message in messages] == [tuple(sorted(topology.neighbours(node)))] * 2
        assert [message.position for message in messages] == [0, 1]
    mixed = Star(tuple(Random(1).sample(SITES, len(SITES))))
    (one,), (other,) = (stamp(star, (), 0, 0, COORDINATOR, [Post(ALL, Ping())]) for star in (mixed, Star(SITES)))
    assert astuple(one) == astuple(other)


@topologies
def test_all_leaves_out_who_is_missing(topology: Topology) -> None:
    for node in topology.nodes:
        here = [other for other in topology.neighbours(node) if other not in ("b", "d")]
        messages = stamp(topology, {"b", "d"}, 0, 0, node, [Post(ALL, Ping())])
        assert [message.receivers for message in messages] == ([tuple(sorted(here))] if here else [])


def test_a_post_that_reaches_nobody_is_no_message_and_takes_no_position() -> None:
    posts = [Post((), Ping()), Post(ALL, Ping()), Post("a", SomeNews())]
    (message,) = stamp(Star(("a",)), {"a"}, 0, 0, COORDINATOR, posts)
    assert (message.kind, message.position) == ("some-news", 0)


def test_who_is_missing_can_be_written_to_by_name() -> None:
    (message,) = stamp(Star(SITES), {"b"}, 0, 0, COORDINATOR, [Post(("b", "a"), Ping())])
    assert message.receivers == ("a", "b")


def test_receivers_are_sorted_and_each_is_told_once() -> None:
    (message,) = stamp(Star(SITES), (), 0, 0, COORDINATOR, [Post(("c", "a", "c"), SomeNews(["x", "y"]))])
    assert message.receivers == ("a", "c")
    assert message.links == 2


def test_bytes_and_entries_count_once_for_each_link() -> None:
    (one,) = stamp(Star(SITES), (), 0, 0, COORDINATOR, [Post("a", SomeNews(["x", "y"]))])
    (all_,) = stamp(Star(SITES), (), 0, 0, COORDINATOR, [Post(ALL, SomeNews(["x", "y"]))])
    assert one.payload == all_.payload
    assert (all_.entries, all_.bytes, all_.links) == (5 * one.entries, 5 * one.bytes, 5)


def test_one_receiver_without_an_edge_spoils_the_whole_post() -> None:
    with pytest.raises(ProtocolError, match="'a' sent ping to 'b', which it has no edge to"):
        stamp(Star(SITES), (), 0, 0, "a", [Post((COORDINATOR, "b"), Ping())])
    with pytest.raises(ProtocolError, match="'@all'"):
        stamp(Star(SITES), (), 0, 0, "a", [Post((ALL,), Ping())])


@pytest.mark.parametrize(
    ("topology", "sender", "receiver"),
    [
        (Star(SITES), "a", "b"), (Star(SITES), COORDINATOR, "stranger"),
        (Star(SITES), COORDINATOR, COORDINATOR),
        (Star(SITES), "a", "@other"), (Mesh(SITES), "a", COORDINATOR), (Mesh(SITES), "a", "a"),
        (Mesh(SITES), "a", "stranger"), (TREE, "a", "b"), (TREE, "a", COORDINATOR), (TREE, "a", "@tree/1/1"),
    ],
)  # fmt: skip
def test_an_edge_outside_the_topology_is_refused_by_name(topology: Topology, sender: str, receiver: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        stamp(topology, (), 0, 0, sender, [Post(receiver, SomeNews())])
    assert str(refusal.value) == f"{sender!r} sent some-news to {receiver!r}, which it has no edge to"


Reply = Callable[[str, int, Sequence[SomeNews]], list[Post]]


@dataclass
class Nodes:
    """One side of a network: `reply` says what a node answers to the letters of a round."""

    topology: Topology
    reply: Reply
    calls: list[tuple[int, dict[str, list[list[str]]]]] = field(default_factory=list)

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        sent: list[Message] = []
        heard = {}
        for node, messages in inbox.items():
            letters = [message.delivery((SomeNews,)).letter for message in messages]
            heard[node] = [letter.words for letter in letters]
            sent += stamp(self.topology, (), 4, round_, node, self.reply(node, round_, letters))
        self.calls.append((round_, heard))
        return sent


def silent(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
    return []


def test_rounds_go_on_until_nobody_speaks_and_the_ledger_has_all_of_it_in_order() -> None:
    star = Star(SITES)

    def ask_all(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post(ALL, SomeNews(["well?"]), "asked")] if round_ == 1 else []

    def answer(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post(COORDINATOR, SomeNews([node, str(round_)]))] if node != "c" else []

    sites, inner = Nodes(star, answer), Nodes(star, ask_all)
    first = [m for site in ("d", "a") for m in stamp(star, (), 4, 0, site, [Post(COORDINATOR, SomeNews([site]))])]
    ledger = settle(sites, inner, first, most_rounds=5)
    assert ledger == sorted(ledger)
    assert [(m.round, m.sender, m.receivers) for m in ledger] == [
        (0, "a", (COORDINATOR,)), (0, "d", (COORDINATOR,)),
        (1, COORDINATOR, SITES),
        *[(2, site, (COORDINATOR,)) for site in ("a", "b", "d", "e")],
    ]  # fmt: skip
    assert inner.calls[0] == (1, {COORDINATOR: [["a"], ["d"]]}), "delivered in the order of the senders"
    assert inner.calls[-1] == (3, {COORDINATOR: [["a", "2"], ["b", "2"], ["d", "2"], ["e", "2"]]})
    assert sites.calls == [(2, {site: [["well?"]] for site in SITES})]


def test_inner_nodes_are_called_once_where_nobody_spoke_and_sites_never() -> None:
    sites, inner = Nodes(Star(SITES), silent), Nodes(Star(SITES), silent)
    assert settle(sites, inner, [], most_rounds=3) == []
    assert (inner.calls, sites.calls) == ([(1, {})], [])


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_inner_nodes_are_called_up_to_the_depth_where_nobody_spoke(depth: int) -> None:
    sites, inner = Nodes(TREE, silent), Nodes(TREE, silent)
    assert settle(sites, inner, [], most_rounds=5, depth=depth) == []
    assert inner.calls == [(round_, {}) for round_ in range(1, max(depth, 1) + 1)]
    assert sites.calls == []


def test_what_an_inner_node_says_late_is_delivered_and_answered() -> None:
    class Upward(Nodes):
        def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
            sent = super().exchange(round_, inbox)
            if round_ == 3:
                sent += stamp(TREE, (), 4, round_, "@tree/1/0", [Post(("a", "b"), SomeNews(["late"]))])
            return sent

    def answer(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post("@tree/1/0", SomeNews([node]))]

    sites, inner = Nodes(TREE, answer), Upward(TREE, silent)
    ledger = settle(sites, inner, [], most_rounds=9, depth=TREE.depth)
    assert [(m.round, m.sender) for m in ledger] == [(3, "@tree/1/0"), (4, "a"), (4, "b")]
    assert [round_ for round_, _ in inner.calls] == [1, 2, 3, 4, 5]


def test_a_tree_deeper_than_the_bound_settles_if_nobody_speaks_beyond_it() -> None:
    inner = Nodes(TREE, silent)
    assert settle(Nodes(TREE, silent), inner, [], most_rounds=2, depth=7) == []
    assert len(inner.calls) == 7


def test_rounds_without_end_are_a_bug_that_names_who_still_speaks() -> None:
    mesh = Mesh(("a", "b"))

    def chatter(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post(ALL, SomeNews())]

    first = stamp(mesh, (), 4, 0, "a", [Post("b", SomeNews())])
    with pytest.raises(ProtocolError, match="epoch 4 has not settled within 6 rounds; still sending: a"):
        settle(Nodes(mesh, chatter), Nodes(mesh, silent), first, most_rounds=6)


@pytest.mark.parametrize(("spoken", "bound", "settles"), [(3, 4, True), (3, 3, False), (0, 1, True)])
def test_the_bound_counts_deliveries(spoken: int, bound: int, settles: bool) -> None:
    """`spoken` replies after the first message take one delivery each, and one more for the first."""
    mesh = Mesh(("a", "b"))

    def some(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post(ALL, SomeNews())] if round_ <= spoken else []

    first = stamp(mesh, (), 4, 0, "a", [Post("b", SomeNews())])
    if settles:
        assert len(settle(Nodes(mesh, some), Nodes(mesh, silent), first, bound)) == 1 + spoken
    else:
        with pytest.raises(ProtocolError, match="has not settled"):
            settle(Nodes(mesh, some), Nodes(mesh, silent), first, bound)


def test_messages_sort_by_round_then_sender_then_position() -> None:
    star = Star(SITES)
    messages = [
        m
        for epoch in (1, 0) for round_ in (10, 2) for sender in ("b", "a")
        for m in stamp(star, (), epoch, round_, sender, [Post(COORDINATOR, SomeNews())] * 12)
    ]  # fmt: skip
    keys = [(m.epoch, m.round, m.sender, m.position) for m in sorted(messages)]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(messages)
