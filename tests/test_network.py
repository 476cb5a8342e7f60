"""Topologies, stamps, and the rounds in which an epoch settles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring_lib.errors import CodecError, ProtocolError
from monitoring_lib.network import (
    ALL,
    COORDINATOR,
    Letter,
    Mesh,
    Message,
    Post,
    Star,
    Topology,
    Tree,
    is_site,
    node_of_site,
    settle,
    site_of_node,
    stamp,
)

SITES = ("a", "b", "c", "d", "e")
TREE = Tree.balanced(SITES, fanout=2)
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
    (message,) = stamp(star, 0, 0, COORDINATOR, [Post(node, Ping())])
    assert message.receiver == node
    assert len(stamp(star, 0, 0, COORDINATOR, [Post(ALL, Ping())])) == 2


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


def test_a_balanced_tree_groups_sites_in_their_order_up_to_the_root() -> None:
    assert TREE.children("@tree/1/0") == ["a", "b"]
    assert TREE.children("@tree/1/2") == ["e"]
    assert TREE.children(COORDINATOR) == ["@tree/2/0", "@tree/2/1"]
    assert [TREE.level(node) for node in ("a", "@tree/1/0", "@tree/2/0", COORDINATOR)] == [3, 2, 1, 0]
    assert TREE.inner == ["@tree/1/0", "@tree/1/1", "@tree/1/2", "@tree/2/0", "@tree/2/1", COORDINATOR]
    assert not TREE.linked("a", COORDINATOR)
    assert not TREE.linked("@tree/1/0", "@tree/1/1")


@pytest.mark.parametrize(("sites", "fanout", "depth"), [(0, 2, 0), (1, 2, 1), (4, 4, 1), (5, 4, 2), (1000, 10, 3)])
def test_no_node_of_a_balanced_tree_has_more_children_than_the_fanout(sites: int, fanout: int, depth: int) -> None:
    tree = Tree.balanced([f"site {number}" for number in range(sites)], fanout)
    assert max(len(tree.children(node)) for node in tree.inner) <= fanout
    assert {tree.level(node) for node in tree.nodes if is_site(node)} <= {depth}


def test_a_tree_needs_a_fanout_of_two() -> None:
    with pytest.raises(ValueError, match=r"fanout: .* found 1"):
        Tree.balanced(SITES, 1)


def test_a_letters_kind_is_its_name_in_plain_words() -> None:
    assert (SomeNews.kind(), Ping.kind()) == ("some-news", "ping")


def test_a_stamp_records_who_what_why_and_how_much() -> None:
    posts = [Post(COORDINATOR, SomeNews(["x", "y"]), "drifted"), Post(COORDINATOR, Ping())]
    first, second = stamp(Star(SITES), epoch=7, round_=2, sender="b", posts=posts)
    assert (first.epoch, first.round, first.sender, first.position, first.receiver) == (
        7,
        2,
        "b",
        0,
        COORDINATOR,
    )
    assert (first.kind, first.reason, first.entries, first.bytes) == (
        "some-news",
        "drifted",
        2,
        len(first.payload),
    )
    assert (second.position, second.kind, second.entries) == (1, "ping", 1)
    assert first.delivery((SomeNews, Ping)).letter == SomeNews(["x", "y"])
    assert first.delivery((SomeNews, Ping)).sender == "b"


def test_a_letter_the_method_does_not_know_cannot_be_delivered() -> None:
    (message,) = stamp(Star(SITES), 0, 0, "b", [Post(COORDINATOR, Ping())])
    with pytest.raises(CodecError, match="none of SomeNews"):
        message.delivery((SomeNews,))


@topologies
def test_a_post_to_all_is_one_message_to_each_neighbour_whatever_the_roster_order(topology: Topology) -> None:
    for node in topology.nodes:
        messages = stamp(topology, 0, 0, node, [Post(ALL, SomeNews(["x"])), Post(ALL, Ping())])
        assert len(messages) == 2 * len(topology.neighbours(node))
        assert {message.receiver for message in messages} == set(topology.neighbours(node))
        assert [message.position for message in messages] == list(range(len(messages)))
    mixed = Star(tuple(Random(1).sample(SITES, len(SITES))))
    assert stamp(mixed, 0, 0, COORDINATOR, [Post(ALL, Ping())]) == stamp(
        Star(SITES), 0, 0, COORDINATOR, [Post(ALL, Ping())]
    )


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
        stamp(topology, 0, 0, sender, [Post(receiver, SomeNews())])
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
            sent += stamp(self.topology, 4, round_, node, self.reply(node, round_, letters))
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
    first = [m for site in ("d", "a") for m in stamp(star, 4, 0, site, [Post(COORDINATOR, SomeNews([site]))])]
    ledger = settle(sites, inner, first, most_rounds=5)
    assert ledger == sorted(ledger)
    assert [(m.round, m.sender, m.receiver) for m in ledger] == [
        (0, "a", COORDINATOR), (0, "d", COORDINATOR),
        *[(1, COORDINATOR, site) for site in SITES],
        *[(2, site, COORDINATOR) for site in ("a", "b", "d", "e")],
    ]  # fmt: skip
    assert inner.calls[0] == (1, {COORDINATOR: [["a"], ["d"]]}), "delivered in the order of the senders"
    assert inner.calls[-1] == (3, {COORDINATOR: [["a", "2"], ["b", "2"], ["d", "2"], ["e", "2"]]})
    assert [round_ for round_, _ in sites.calls] == [2]


def test_inner_nodes_are_called_once_where_nobody_spoke_and_sites_never() -> None:
    sites, inner = Nodes(Star(SITES), silent), Nodes(Star(SITES), silent)
    assert settle(sites, inner, [], most_rounds=3) == []
    assert (inner.calls, sites.calls) == ([(1, {})], [])


def test_rounds_without_end_are_a_bug_that_names_who_still_speaks() -> None:
    mesh = Mesh(("a", "b"))

    def chatter(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post(ALL, SomeNews())]

    first = stamp(mesh, 4, 0, "a", [Post("b", SomeNews())])
    with pytest.raises(ProtocolError, match="epoch 4 has not settled within 6 rounds; still speaking: a"):
        settle(Nodes(mesh, chatter), Nodes(mesh, silent), first, most_rounds=6)


@pytest.mark.parametrize(("spoken", "bound", "settles"), [(3, 4, True), (3, 3, False), (0, 1, True)])
def test_the_bound_counts_deliveries(spoken: int, bound: int, settles: bool) -> None:
    """`spoken` replies after the first message take one delivery each, and one more for the first."""
    mesh = Mesh(("a", "b"))

    def some(node: str, round_: int, letters: Sequence[SomeNews]) -> list[Post]:
        return [Post(ALL, SomeNews())] if round_ <= spoken else []

    first = stamp(mesh, 4, 0, "a", [Post("b", SomeNews())])
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
        for m in stamp(star, epoch, round_, sender, [Post(COORDINATOR, SomeNews())] * 12)
    ]  # fmt: skip
    keys = [(m.epoch, m.round, m.sender, m.position) for m in sorted(messages)]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(messages)
