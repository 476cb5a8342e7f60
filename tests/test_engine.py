"""The engine: who is called when, upkeep, missing sites, and replays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Image
from monitoring_lib.engine import InnerNodes, LocalSites, Network, replay, resolve
from monitoring_lib.errors import CodecError, ProtocolError
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, InnerRole, Keys, Method, Moment, NoOptions, Question, Role, SiteRole, Truth
from monitoring_lib.network import ALL, COORDINATOR, Delivery, Letter, Message, Post, is_site
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Mesh, Roster, Topology, Tree


@dataclass(slots=True)
class Word(Letter, tag=1, version=1):
    text: str


@dataclass(slots=True)
class Heard(Image, tag=2, version=1):
    node: str
    words: list[str] = field(default_factory=list)


class Nothing(Question):
    """Asked only so that a method has something to answer."""

    name = "nothing"
    Params = Keys
    default_method = "scripted"
    baseline = "scripted"
    shape = "rows"

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        raise LookupError("nobody judges this")

    def promise(self, ask: Ask) -> str:
        return "none"

    def meaning(self, ask: Ask) -> str:
        return "nothing is asked"


Script = dict[str, list[Post]]
"""What a node says when it hears a word (or at ``observe`` and ``close``)."""


class Scripted(Role[Heard]):
    State = Heard

    def __init__(self, ask: Ask, script: Script) -> None:
        super().__init__(ask)
        self.script = script

    def start(self, node: str) -> Heard:
        return Heard(node)

    def receive(self, state: Heard, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, Word)
            state.words.append(f"{delivery.sender}:{delivery.letter.text}")
            yield from self.script.get(delivery.letter.text, [])
        if not inbox:
            state.words.append(f"round {round_}")
            yield from self.script.get(f"{state.node} round {round_}", [])

    def answers(self, state: Heard, moment: Moment) -> Answers:
        return Answers.of([Answer(state.node, moment.end, "|".join(state.words), None, 0, 0, 0)])


class ScriptedSite(Scripted, SiteRole[Heard]):
    def observe(self, state: Heard, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        state.words.append(f"{moment.epoch}+{arriving.names}-{expiring.names}")
        return self.script.get("observe", [])


class ScriptedInner(Scripted, InnerRole[Heard]):
    def close(self, state: Heard, moment: Moment) -> Iterable[Post]:
        state.words.append("close")
        return self.script.get(f"close {state.node}", [])


class Play(Method):
    name = "scripted"
    question = Nothing()
    letters = (Word,)

    def __init__(self, sites: Script, inner: Script, over: Callable[[Roster], Topology] | None = None) -> None:
        super().__init__(Ask(Keys(), NoOptions()))
        self.site, self.inner, self.over = ScriptedSite(self.ask, sites), ScriptedInner(self.ask, inner), over

    def topology(self, roster: Roster) -> Topology:
        return self.over(roster) if self.over else super().topology(roster)


def tree(roster: Roster) -> Tree:
    return Tree.even(roster, 2)


def mesh(roster: Roster) -> Mesh:
    return Mesh(roster.sites)


def at(method: Method, epoch: int, sites: str = "ab", missing: str = "", owed: bool = False) -> Moment:
    start, roster = 10 * epoch, Roster().joined(dict.fromkeys(sites, ()))
    topology = method.topology(roster)
    return Moment(epoch, start, start + 10, 0, topology, roster.sites, frozenset(missing), owed)


def words(answers: Answers) -> dict[str, list[str]]:
    return {row.node: row.key.split("|") for row in answers}


def test_an_epoch_is_observed_settled_closed_and_answered() -> None:
    method = Play(
        sites={"observe": [Post(COORDINATOR, Word("up"))], "ask": [Post(COORDINATOR, Word("reply"))]},
        inner={"up": [Post("b", Word("ask"), "why not")], "close @coordinator": [Post("a", Word("bye"))]},
    )
    network = Network(method)
    settled = network.step(at(method, 0), {"a": Counts.of(["x"])}, {"b": Counts.of(["y"])})
    assert [(m.round, m.sender, *m.receivers, m.reason) for m in settled.messages] == [
        (0, "a", COORDINATOR, ""), (0, "b", COORDINATOR, ""),
        (1, COORDINATOR, "b", "why not"), (1, COORDINATOR, "b", "why not"),
        (2, "b", COORDINATOR, ""), (2, "b", COORDINATOR, ""),
        (3, COORDINATOR, "a", ""),
    ]  # fmt: skip
    assert words(settled.answers) == {
        "a": ["0+['x']-[]"],
        "b": ["0+[]-['y']", "@coordinator:ask", "@coordinator:ask"],
        COORDINATOR: ["a:up", "b:up", "b:reply", "b:reply", "close"],
    }
    assert network.sites.states["a"].words == ["0+['x']-[]", "@coordinator:bye"], "upkeep comes after the answers"


def test_inner_nodes_are_called_in_round_one_even_if_nobody_spoke() -> None:
    method = Play({}, {})
    settled = Network(method).step(at(method, 0), {}, {})
    assert settled.messages == []
    assert words(settled.answers)[COORDINATOR] == ["round 1", "close"]


def test_upkeep_reaches_inner_nodes_of_a_tree_and_their_sites() -> None:
    upkeep = {
        "close @coordinator": [Post(ALL, Word("from root"))],
        "close @tree/1/1": [Post("c", Word("from branch"))],
    }
    method = Play({}, upkeep, tree)
    network = Network(method)
    settled = network.step(at(method, 0, "abc"), {}, {})
    assert [(m.round, m.sender, m.receivers) for m in settled.messages] == [
        (2, COORDINATOR, ("@tree/1/0", "@tree/1/1")), (2, "@tree/1/1", ("c",)),
    ]  # fmt: skip
    assert network.inner.states["@tree/1/0"].words[-1] == "@coordinator:from root"
    assert network.sites.states["c"].words[-1] == "@tree/1/1:from branch"


@pytest.mark.parametrize(
    ("over", "who", "upkeep"),
    [
        (None, "a", {"close @coordinator": [Post("a", Word("well?"))]}),
        (tree, "@tree/1/0",
         {"close @coordinator": [Post("@tree/1/0", Word("well?"))], "well?": [Post("a", Word("no"))]}),
    ],
)  # fmt: skip
def test_nobody_answers_upkeep(over: Callable[[Roster], Topology] | None, who: str, upkeep: Script) -> None:
    method = Play({"well?": [Post(COORDINATOR, Word("yes"))]}, upkeep, over)
    with pytest.raises(ProtocolError, match=f"'{who}' answered the upkeep of epoch 5"):
        Network(method).step(at(method, 5, "abc"), {}, {})


def test_a_missing_site_neither_observes_nor_answers_but_its_mail_waits() -> None:
    method = Play({}, {"close @coordinator": [Post(("a", "b"), Word("note"))]})
    network = Network(method)
    network.step(at(method, 0), {}, {})
    settled = network.step(at(method, 1, missing="b"), {"b": Counts.of(["lost"])}, {})
    assert {row.node for row in settled.answers} == {"a", COORDINATOR}
    assert network.sites.states["b"].words == ["0+[]-[]", "@coordinator:note", "@coordinator:note"]


def test_a_site_missing_from_its_first_epoch_on_can_be_written_to() -> None:
    method = Play({}, {"close @coordinator": [Post(("a", "b"), Word("note"))]})
    network = Network(method)
    network.step(at(method, 0, missing="b"), {}, {})
    network.step(at(method, 1), {}, {})
    assert network.sites.states["b"].words == ["@coordinator:note", "1+[]-[]", "@coordinator:note"]


def test_a_post_to_all_does_not_reach_a_site_that_is_missing() -> None:
    method = Play({}, {"close @coordinator": [Post(ALL, Word("note"))]})
    network = Network(method)
    settled = network.step(at(method, 0, missing="b"), {}, {})
    assert [m.receivers for m in settled.messages] == [("a",)]
    network.step(at(method, 1), {}, {})
    assert network.sites.states["b"].words == ["1+[]-[]", "@coordinator:note"]


def test_answers_are_partial_where_events_of_the_window_were_set_aside() -> None:
    method = Play({}, {})
    assert Network(method).step(at(method, 0), {}, {}).answers.column("partial") == [False] * 3
    assert Network(method).step(at(method, 0, owed=True), {}, {}).answers.column("partial") == [True] * 3


def test_a_letter_to_many_is_decoded_once_and_handed_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    delivery = Message.delivery
    monkeypatch.setattr(Message, "delivery", lambda self, kinds: decoded.append(self.payload) or delivery(self, kinds))
    method = Play({"observe": [Post(ALL, Word("all"))]}, {}, mesh)
    settled = Network(method).step(at(method, 0, "abcd"), {}, {})
    assert [(m.sender, m.links) for m in settled.messages] == [(site, 3) for site in "abcd"]
    assert len(decoded) == 4
    assert words(settled.answers)["b"] == ["0+[]-[]", "a:all", "c:all", "d:all"]


def test_letters_of_one_sender_to_many_are_told_apart() -> None:
    method = Play({"observe": [Post(ALL, Word("first")), Post(ALL, Word("second"))]}, {}, mesh)
    settled = Network(method).step(at(method, 0, "abc"), {}, {})
    assert words(settled.answers)["c"] == ["0+[]-[]", "a:first", "a:second", "b:first", "b:second"]


def test_inner_nodes_are_called_in_every_round_up_to_the_depth_of_the_tree() -> None:
    method = Play({}, {}, tree)
    moment = at(method, 0, "abcde")
    assert moment.topology.depth == 3
    settled = Network(method).step(moment, {}, {})
    inner = {node: said for node, said in words(settled.answers).items() if not is_site(node)}
    assert len(inner) == 6
    assert all(said == ["round 1", "round 2", "round 3", "close"] for said in inner.values())


def test_after_the_depth_of_the_tree_only_nodes_with_mail_are_called() -> None:
    script = {"@coordinator round 3": [Post("@tree/2/0", Word("down"))]}
    settled = Network(Play({}, script, tree)).step(at(Play({}, {}, tree), 0, "abcde"), {}, {})
    heard = words(settled.answers)
    assert heard["@tree/2/0"] == ["round 1", "round 2", "round 3", "@coordinator:down", "close"]
    assert heard["@tree/1/0"] == heard["@tree/2/1"] == ["round 1", "round 2", "round 3", "close"]


class Forwarding(ScriptedInner):
    """Says once an epoch, at the round of its height, what came from below."""

    def receive(self, state: Heard, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        assert isinstance(moment.topology, Tree)
        state.words += [delivery.letter.text for delivery in inbox if isinstance(delivery.letter, Word)]
        if round_ == moment.topology.height(state.node) and state.node != COORDINATOR:
            yield Post(moment.topology.parents[state.node], Word("+".join(sorted(state.words))))


def test_a_silent_branch_does_not_hold_its_parent() -> None:
    """Of the sites below @tree/2/0 nobody speaks: the root hears of both branches in the same round."""

    class SomeSpeak(ScriptedSite):
        def observe(self, state: Heard, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
            assert isinstance(moment.topology, Tree)
            return [Post(moment.topology.parents[state.node], Word(state.node))] if state.node in "ef" else []

    method = Play({}, {}, tree)
    method.site, method.inner = SomeSpeak(method.ask, {}), Forwarding(method.ask, {})
    settled = Network(method).step(at(method, 0, "abcdefgh"), {}, {})
    arrived = [(m.round, m.sender, m.delivery((Word,)).letter) for m in settled.messages if m.round]
    assert arrived == [
        (1, "@tree/1/0", Word("")), (1, "@tree/1/1", Word("")),
        (1, "@tree/1/2", Word("e+f")), (1, "@tree/1/3", Word("")),
        (2, "@tree/2/0", Word("+")), (2, "@tree/2/1", Word("+e+f")),
    ]  # fmt: skip
    assert words(settled.answers)[COORDINATOR] == ["+", "+e+f", "close"]


def test_upkeep_follows_the_last_round_in_which_an_inner_node_was_called() -> None:
    method = Play({}, {"close @coordinator": [Post(ALL, Word("down"))]}, tree)
    assert [m.round for m in Network(method).step(at(method, 0, "abcde"), {}, {}).messages] == [3]


def test_a_missing_site_that_answers_is_refused_by_name() -> None:
    method = Play(
        {"observe": [Post(COORDINATOR, Word("up"))], "ask": [Post(COORDINATOR, Word("reply"))]},
        {"up": [Post("b", Word("ask"))]},
    )
    with pytest.raises(ProtocolError, match="'b' is missing in epoch 0 and must not send, yet it answers word"):
        Network(method).step(at(method, 0, missing="b"), {}, {})


def test_each_site_is_kept_right_after_it_observed() -> None:
    method = Play({"observe": [Post(COORDINATOR, Word("up"))]}, {"up": [Post(ALL, Word("down"))]})
    kept: dict[str, list[str]] = {}
    sites = LocalSites(method, keep=lambda node, state: kept.update({node: list(state.words)}))
    moment = at(method, 0)
    resolve(moment, method, sites, InnerNodes(method), sites.observe(moment, {}, {}))
    assert kept == {"a": ["0+[]-[]"], "b": ["0+[]-[]"]}
    assert len(sites.states["a"].words) == 3


def test_a_site_without_events_is_given_the_empty_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    method = Play({}, {})
    assert method.summary() == Nothing().exact(method.ask) == Play({}, {}).summary(), "equal summaries can be shared"
    handed: list[Any] = []
    monkeypatch.setattr(method.site, "observe", lambda state, moment, *given: handed.extend(given) or ())
    Network(method).step(at(method, 0), {"a": Counts.of(["x"])}, {})
    assert [list(synopsis) for synopsis in handed] == [[("x", 1)], [], [], []]


def test_sites_are_asked_for_answers_only_where_their_role_gives_any() -> None:
    class Quiet(ScriptedSite):
        answers = Role.answers

    method = Play({}, {})
    assert method.site.publishes
    method.site = Quiet(method.ask, {})
    assert not method.site.publishes
    assert {row.node for row in Network(method).step(at(method, 0), {}, {}).answers} == {COORDINATOR}


def test_a_node_that_the_method_does_not_have_is_named() -> None:
    class Flat(Play):
        def __init__(self) -> None:
            super().__init__({}, {})
            self.inner = None

    with pytest.raises(LookupError, match="scripted has no node '@coordinator'"):
        Flat().role(COORDINATOR)


@pytest.fixture
def replayed() -> Any:
    """A method, an epoch's moment and messages, and a state of b right after it observed."""
    method = Play(
        {"observe": [Post(COORDINATOR, Word("up"))], "ask": [Post(COORDINATOR, Word("reply"))]},
        {"up": [Post("b", Word("ask"))], "close @coordinator": [Post("b", Word("bye"))]},
    )
    moment, sites = at(method, 3), LocalSites(method)
    sent = sites.observe(moment, {}, {})
    before = Heard("b", list(sites.states["b"].words))
    messages = resolve(moment, method, sites, InnerNodes(method), sent).messages
    received = [m for m in messages if "b" in m.receivers]
    said = [m for m in messages if m.sender == "b" and m.round >= 1]
    return method, moment, before, received, said, sites.states["b"]


def test_a_replay_brings_a_state_to_the_end_of_its_epoch(replayed: Any) -> None:
    method, moment, state, received, said, after = replayed
    replay(method, moment, "b", state, received[::-1], said[::-1])
    assert state == after
    assert state.words[-1] == "@coordinator:bye"
    assert is_site("b")


@pytest.mark.parametrize(
    "damage",
    [
        lambda said: [], lambda said: said[1:], lambda said: [*said, replace(said[-1], position=9)],
        lambda said: [replace(said[0], payload=b"other"), *said[1:]],
        lambda said: [replace(said[0], reason="other"), *said[1:]],
        lambda said: [replace(said[0], round=5), *said[1:]],
    ],
)  # fmt: skip
def test_a_replay_that_says_anything_else_is_refused(replayed: Any, damage: Any) -> None:
    method, moment, state, received, said, _ = replayed
    with pytest.raises(ProtocolError, match=r"scripted: replaying epoch 3, 'b' sends .* is recorded"):
        replay(method, moment, "b", state, received, damage(said))


def test_a_replay_of_a_corrupt_message_is_refused(replayed: Any) -> None:
    method, moment, state, received, said, _ = replayed
    broken = [replace(received[0], payload=received[0].payload[:-1]), *received[1:]]
    with pytest.raises(CodecError, match="checksum"):
        replay(method, moment, "b", state, broken, said)


def test_an_epoch_without_mail_replays_to_the_same_state(replayed: Any) -> None:
    method, moment, state, _, _, _ = replayed
    before = list(state.words)
    replay(method, moment, "b", state, [], [])
    assert state.words == before
