"""The engine: who is called when, upkeep, missing sites, and replays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

from monitoring_lib.codec import Image
from monitoring_lib.engine import InnerNodes, LocalSites, Network, replay, resolve
from monitoring_lib.errors import CodecError, ProtocolError
from monitoring_lib.methods import (
    Answer,
    Ask,
    InnerRole,
    Keys,
    Method,
    Moment,
    NoOptions,
    Question,
    Role,
    SiteRole,
    Summary,
    Truth,
)
from monitoring_lib.network import ALL, COORDINATOR, Delivery, Letter, Post, Topology, Tree, is_site
from monitoring_lib.synopses.counts import Counts


@dataclass(slots=True)
class Word(Letter, tag=1, version=1):
    text: str


@dataclass(slots=True)
class Heard(Image, tag=2, version=1):
    node: str
    words: list[str] = field(default_factory=list)


def build(keys: Mapping[str, pa.Array], sums: pa.Array) -> Counts:
    return Counts.of_pairs(zip(keys["item"].to_pylist(), sums.to_pylist(), strict=True))


class Nothing(Question):
    """Asked only so that a method has something to answer."""

    name = "nothing"
    Params = Keys
    default_method = "scripted"

    def summary(self, ask: Ask) -> Summary:
        return Summary(keys=("item",), synopsis=Counts, build=build)

    def truth(self, ask: Ask) -> Truth:
        raise LookupError("nobody judges this")

    def promise(self, ask: Ask) -> str:
        return "none"


Script = dict[str, list[Post]]
"""What a node says when it hears a word (or at ``observe`` and ``close``)."""


class Scripted(Role[Heard]):
    State = Heard

    def __init__(self, ask: Ask, script: Script) -> None:
        super().__init__(ask)
        self.script = script

    def start(self, node: str) -> Heard:
        return Heard(node)

    def receive(self, state: Heard, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, Word)
            state.words.append(f"{delivery.sender}:{delivery.letter.text}")
            yield from self.script.get(delivery.letter.text, [])
        if not inbox:
            state.words.append("round 1")

    def answers(self, state: Heard, moment: Moment) -> list[Answer]:
        return [Answer(state.node, moment.end, "|".join(state.words), None, 0, 0, 0)]


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

    def __init__(self, sites: Script, inner: Script, tree: bool = False) -> None:
        super().__init__(Ask(Keys(), NoOptions()))
        self.site, self.inner, self.tree = ScriptedSite(self.ask, sites), ScriptedInner(self.ask, inner), tree

    def topology(self, sites: tuple[str, ...]) -> Topology:
        return Tree.balanced(sites, 2) if self.tree else super().topology(sites)


def at(method: Method, epoch: int, sites: str = "ab", missing: str = "") -> Moment:
    start, names = 10 * epoch, tuple(sites)
    return Moment(epoch, start, start + 10, 0, method.topology(names), names, frozenset(missing))


def words(answers: Sequence[Answer]) -> dict[str, list[str]]:
    return {row.node: row.key.split("|") for row in answers}


def test_an_epoch_is_observed_settled_closed_and_answered() -> None:
    method = Play(
        sites={"observe": [Post(COORDINATOR, Word("up"))], "ask": [Post(COORDINATOR, Word("reply"))]},
        inner={"up": [Post("b", Word("ask"), "why not")], "close @coordinator": [Post("a", Word("bye"))]},
    )
    network = Network(method)
    settled = network.step(at(method, 0), {"a": Counts.of(["x"])}, {"b": Counts.of(["y"])})
    assert [(m.round, m.sender, m.receiver, m.reason) for m in settled.messages] == [
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
    method = Play({}, upkeep, tree=True)
    network = Network(method)
    settled = network.step(at(method, 0, "abc"), {}, {})
    assert [(m.round, m.sender, m.receiver) for m in settled.messages] == [
        (1, COORDINATOR, "@tree/1/0"), (1, COORDINATOR, "@tree/1/1"), (1, "@tree/1/1", "c"),
    ]  # fmt: skip
    assert network.inner.states["@tree/1/0"].words[-1] == "@coordinator:from root"
    assert network.sites.states["c"].words[-1] == "@tree/1/1:from branch"


@pytest.mark.parametrize(
    ("tree", "who", "upkeep"),
    [
        (False, "a", {"close @coordinator": [Post("a", Word("well?"))]}),
        (True, "@tree/1/0",
         {"close @coordinator": [Post("@tree/1/0", Word("well?"))], "well?": [Post("a", Word("no"))]}),
    ],
)  # fmt: skip
def test_nobody_answers_upkeep(tree: bool, who: str, upkeep: Script) -> None:
    method = Play({"well?": [Post(COORDINATOR, Word("yes"))]}, upkeep, tree)
    with pytest.raises(ProtocolError, match=f"'{who}' answered the upkeep of epoch 5"):
        Network(method).step(at(method, 5, "abc"), {}, {})


def test_a_missing_site_neither_observes_nor_answers_but_its_mail_waits() -> None:
    method = Play({}, {"close @coordinator": [Post(ALL, Word("note"))]})
    network = Network(method)
    network.step(at(method, 0), {}, {})
    settled = network.step(at(method, 1, missing="b"), {"b": Counts.of(["lost"])}, {})
    assert {row.node for row in settled.answers} == {"a", COORDINATOR}
    assert network.sites.states["b"].words == ["0+[]-[]", "@coordinator:note", "@coordinator:note"]


def test_a_site_missing_from_its_first_epoch_on_can_be_written_to() -> None:
    method = Play({}, {"close @coordinator": [Post(ALL, Word("note"))]})
    network = Network(method)
    network.step(at(method, 0, missing="b"), {}, {})
    network.step(at(method, 1), {}, {})
    assert network.sites.states["b"].words == ["@coordinator:note", "1+[]-[]", "@coordinator:note"]


def test_a_missing_site_that_answers_is_refused_by_name() -> None:
    method = Play(
        {"observe": [Post(COORDINATOR, Word("up"))], "ask": [Post(COORDINATOR, Word("reply"))]},
        {"up": [Post("b", Word("ask"))]},
    )
    with pytest.raises(ProtocolError, match="'b' is missing in epoch 0 and must not speak, yet it answers word"):
        Network(method).step(at(method, 0, missing="b"), {}, {})


def test_each_site_is_kept_right_after_it_observed() -> None:
    method = Play({"observe": [Post(COORDINATOR, Word("up"))]}, {"up": [Post(ALL, Word("down"))]})
    kept: dict[str, list[str]] = {}
    sites = LocalSites(method, keep=lambda node, state: kept.update({node: list(state.words)}))
    moment = at(method, 0)
    resolve(moment, method, sites, InnerNodes(method), sites.observe(moment, {}, {}))
    assert kept == {"a": ["0+[]-[]"], "b": ["0+[]-[]"]}
    assert len(sites.states["a"].words) == 3


def test_a_site_without_events_is_given_the_empty_summary() -> None:
    summary = Nothing().summary(Ask(Keys(), NoOptions()))
    assert list(summary.empty()) == []
    assert summary == Nothing().summary(Ask(Keys(), NoOptions())), "equal summaries can be shared"


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
    received = [m for m in messages if m.receiver == "b"]
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
    with pytest.raises(ProtocolError, match=r"scripted: replaying epoch 3, 'b' says .* is recorded"):
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
