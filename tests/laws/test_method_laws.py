"""What holds for every method found, and for the two toys: promises, restarts, replays, determinism."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path
from random import Random
from typing import Any

import pytest

from monitoring_lib import protocols, states
from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.codec import encode
from monitoring_lib.engine import receive
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Method
from monitoring_lib.network import Message, is_site
from monitoring_lib.promises import broken_shares, most_broken
from tests.laws.method_driver import (
    DIGESTED,
    Record,
    Run,
    Scenario,
    digest,
    digests,
    draw_scenario,
    restored,
    run_scenario,
    shuffled,
    subjects,
    verdicts,
)
from tests.laws.questions import makers

SEEDS = range(5)
MORE_SEEDS = range(5, 25)
"""Scenarios of `make test-long`."""
every_method = pytest.mark.parametrize("kind", subjects(), ids=lambda kind: f"{kind.question.name}/{kind.name}")
every_story = pytest.mark.parametrize(
    "seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.long) for seed in MORE_SEEDS)]
)


@cache
def recorded(kind: type[Method], seed: int) -> tuple[Scenario, list[Record]]:
    scenario = draw_scenario(kind, seed)
    return scenario, run_scenario(scenario)


def assert_same(found: Sequence[Record], expected: Sequence[Record]) -> None:
    assert len(found) == len(expected)
    for at, (one, other) in enumerate(zip(found, expected, strict=True)):
        for part, mine, its in zip(("messages", "answers", "rows"), one.plain(), other.plain(), strict=True):
            differing = [pair for pair in zip_longest(mine, its) if pair[0] != pair[1]]
            assert not differing, f"{part} differ first in record {at}: {differing[0]}"


def test_every_question_found_has_a_maker_of_scenarios() -> None:
    assert set(protocols.questions()) <= set(makers()), "add a module to tests/laws/questions for the new question"


@every_method
def test_scenarios_hold_what_the_laws_are_about(kind: type[Method]) -> None:
    moments = [given.moment for seed in range(12) for given in recorded(kind, seed)[0].inputs]
    assert any(moment.missing for moment in moments)
    assert any(set(now.sites) > set(then.sites) for then, now in pairwise(moments))
    assert any(moment.owed for moment in moments)
    if "reset" in kind.question.windows:
        assert any(now.period > then.period for then, now in pairwise(moments))
    assert sum(len(record.messages) for seed in range(12) for record in recorded(kind, seed)[1]) > 100
    assert sum(len(record.answers) for seed in range(12) for record in recorded(kind, seed)[1]) > 100


@every_story
@every_method
def test_every_deterministic_promise_is_kept_at_every_epoch(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    found = verdicts(scenario, records)
    assert found
    certain = [(epoch, verdict) for epoch, verdict in found if verdict.confidence == 1]
    assert [(epoch, verdict) for epoch, verdict in certain if not verdict.kept] == []


@every_method
def test_probable_promises_are_broken_no_more_often_than_they_say(kind: type[Method]) -> None:
    runs = [Verdicts.of(verdict for _, verdict in verdicts(*recorded(kind, seed))) for seed in SEEDS]
    for confidence, shares in broken_shares(runs).items():
        assert sum(shares) <= most_broken(len(shares), confidence)


@every_method
def test_an_answer_is_partial_only_where_something_is_missing(kind: type[Method]) -> None:
    for seed in SEEDS:
        scenario, records = recorded(kind, seed)
        for given, record in zip(scenario.inputs, records, strict=True):
            moment = given.moment
            if moment.owed:
                assert all(row.partial for row in record.answers)
            elif not moment.missing:
                assert not record.answers.any_partial


@every_method
def test_nodes_leave_the_letters_that_they_are_handed_as_they_are(kind: type[Method]) -> None:
    for seed in SEEDS[:4]:
        scenario, records = recorded(kind, seed)
        method = scenario.method()
        role = method.role
        method.site = Watched(method.site)  # type: ignore[assignment]
        method.role = lambda node, role=role: Watched(role(node))  # type: ignore[method-assign]
        assert_same(Run(method).go_on(scenario.inputs), records)


class Watched:
    """A role whose letters must be the same after it has received them."""

    def __init__(self, role: Any) -> None:
        self.role = role

    def __getattr__(self, name: str) -> Any:
        return getattr(self.role, name)

    def receive(self, state: Any, moment: Any, round_: int, inbox: Any) -> Any:
        before = [encode(delivery.letter) for delivery in inbox]
        posts = list(self.role.receive(state, moment, round_, inbox))
        assert [encode(delivery.letter) for delivery in inbox] == before
        return posts


@every_story
@every_method
def test_estimates_lie_inside_their_bounds_and_states_are_sound(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    rows = [row for record in records for row in record.answers]
    assert [row for row in rows if not row.low <= row.estimate <= row.high or not 0 < row.confidence <= 1] == []
    run = Run(scenario.method())
    for given in scenario.inputs:
        run.step(given)
        for node, state in run.inner.states.items():
            assert list(run.method.role(node).faults(state)) == []
        for state in run.sites.states.values():
            assert list(run.method.site.faults(state)) == []


@every_method
def test_whoever_publishes_can_say_why_it_is_valid(kind: type[Method]) -> None:
    scenario = recorded(kind, SEEDS[0])[0]
    run = Run(scenario.method())
    for given in scenario.inputs:
        record = run.step(given)
        for node in {row.node for row in record.answers}:
            states, role = (run.sites, run.method.site) if is_site(node) else (run.inner, run.method.role(node))
            text = role.certificate(states.states[node], given.moment)
            assert text.endswith(".") or not kind.__module__.startswith("monitoring_lib.")
            assert not {"nan", "inf", "None"} & set(re.findall(r"\w+", text)), text


@every_story
@every_method
def test_a_run_restored_from_rows_and_messages_goes_on_as_if_nothing_happened(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    rng = Random(seed)
    for done in {1, rng.randrange(2, 20), rng.randrange(2, len(records))}:
        after = restored(scenario, records, done).go_on(scenario.inputs[done:])
        assert_same(after, records[done:])


@every_method
def test_a_replay_that_differs_from_the_record_is_refused(kind: type[Method]) -> None:
    tried = 0
    for seed in SEEDS:
        scenario, records = recorded(kind, seed)
        for at, record in enumerate(records):
            present = set(scenario.inputs[at].moment.present)
            said = [m for m in record.messages if m.round >= 1 and m.sender in present]
            for lost in said[:1]:
                changed = replace(lost, payload=lost.payload[:-1])
                for forged in ([], [changed]):
                    messages = [message for message in record.messages if message is not lost] + forged
                    damaged = [*records[:at], replace(record, messages=messages), *records[at + 1 :]]
                    with pytest.raises(ProtocolError, match="replaying epoch"):
                        restored(scenario, damaged, at + 1, only=lost.sender)
                    tried += 1
    assert tried or not _sites_reply(kind)


def _sites_reply(kind: type[Method]) -> bool:
    messages = [message for seed in SEEDS for record in recorded(kind, seed)[1] for message in record.messages]
    return any(message.round >= 1 and is_site(message.sender) for message in messages)


@every_story
@every_method
def test_an_epoch_in_which_nothing_changed_leaves_no_rows_and_no_messages(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    if makers()[kind.question.name].restless:
        return
    quiet = 0
    for at in range(3, len(records)):
        before = [given.moment for given in scenario.inputs[at - 3 : at]]
        now = scenario.inputs[at].moment
        silent = not any(given.arriving or given.expiring for given in scenario.inputs[at - 3 : at + 1])
        settled = all(
            (then.period, then.sites, then.missing) == (now.period, now.sites, frozenset()) for then in before
        )
        if silent and settled and not now.missing:
            quiet += 1
            assert {node: row for node, row in records[at].rows.items() if row is not None} == {}
            assert records[at].messages == []
    assert quiet


class RecordedSites:
    """Stands in for sites whose storage is away: it has only what they sent."""

    def __init__(self, record: Record) -> None:
        self.said = [message for message in record.messages if is_site(message.sender)]

    def exchange(self, round_: int, inbox: Any) -> list[Message]:
        return [message for message in self.said if message.round == round_]

    def take_upkeep(self, round_: int, inbox: Any) -> None:
        """Nobody is there to take it."""

    def answers(self) -> Answers:
        return Answers.of()


@every_story
@every_method
def test_inner_nodes_work_from_messages_alone(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    run = Run(scenario.method())
    for given, record in zip(scenario.inputs, records, strict=True):
        sites = RecordedSites(record)
        run.rows = {node: row for node, row in record.rows.items() if is_site(node)}
        again = run.settle(given, sites, sites.exchange(0, {}))
        inner = Answers.of(row for row in record.answers if not is_site(row.node))
        assert_same([again], [replace(record, answers=inner)])


@pytest.mark.slow
def test_processes_with_different_hash_seeds_say_and_store_the_same() -> None:
    # This process has a seed of its own: a random one, unless the environment says another.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    ended = subprocess.run(
        [sys.executable, "-m", "tests.laws.method_driver"], cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [digests(*recorded(kind, seed)) for kind in subjects() for seed in DIGESTED]


class Meddler:
    """A role that changes its letters once they are sent, and checks that nobody is handed one of them."""

    def __init__(self, role: Any, sent: list[Any]) -> None:
        self.role, self.sent = role, sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self.role, name)

    def observe(self, *given: Any) -> Any:
        return self._meddling(self.role.observe(*given))

    def close(self, *given: Any) -> Any:
        return self._meddling(self.role.close(*given))

    def receive(self, state: Any, moment: Any, round_: int, inbox: Any) -> Any:
        mine = {id(letter) for letter in self.sent}
        assert not [delivery for delivery in inbox if id(delivery.letter) in mine]
        return self._meddling(self.role.receive(state, moment, round_, inbox))

    def _meddling(self, posts: Any) -> Any:
        letters = []
        for post in posts:
            letters.append(post.letter)
            yield post
        for letter in letters:
            self.sent.append(letter)
            for name in letter.__dataclass_fields__:
                setattr(letter, name, None)


@every_method
def test_a_letter_changed_after_it_was_sent_changes_nothing(kind: type[Method]) -> None:
    for seed in SEEDS[:4]:
        scenario, records = recorded(kind, seed)
        method, sent = scenario.method(), []
        role = method.role
        method.site = Meddler(method.site, sent)  # type: ignore[assignment]
        method.role = lambda node, role=role, sent=sent: Meddler(role(node), sent)  # type: ignore[method-assign]
        assert_same(Run(method).go_on(scenario.inputs), records)
        assert sent


@every_story
@every_method
def test_the_order_of_rosters_and_mappings_does_not_matter(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    assert_same(run_scenario(shuffled(scenario, Random(seed))), records)


@every_story
@every_method
def test_missing_sites_never_speak_and_are_sent_nothing_that_asks_for_an_answer(kind: type[Method], seed: int) -> None:
    scenario, records = recorded(kind, seed)
    for at, (given, record) in enumerate(zip(scenario.inputs, records, strict=True)):
        missing = given.moment.missing
        assert not missing & {message.sender for message in record.messages}
        assert not missing & {row.node for row in record.answers}
        assert not missing & record.rows.keys()
        told_anyway = [(node, m) for m in record.messages for node in m.receivers if node in missing]
        if told_anyway and at:
            states_now = restored(scenario, records, at).sites.states
            awake = replace(given.moment, missing=frozenset())
            for node, message in told_anyway:
                state = states_now.get(node) or scenario.method().site.start(node)
                assert receive(scenario.method(), awake, node, state, [message], message.round + 1) == []


@every_method
def test_letters_of_a_method_can_be_told_apart(kind: type[Method]) -> None:
    assert len({letter.TAG for letter in kind.letters}) == len(kind.letters)
    assert len({letter.kind() for letter in kind.letters}) == len(kind.letters)
    used = {message.kind for seed in SEEDS for record in recorded(kind, seed)[1] for message in record.messages}
    assert used <= {letter.kind() for letter in kind.letters}


@every_method
def test_bytes_and_entries_of_the_ledger_are_those_of_the_letters(kind: type[Method]) -> None:
    for seed in SEEDS:
        scenario, records = recorded(kind, seed)
        for message in (message for record in records for message in record.messages):
            assert message.bytes == len(message.payload) * message.links
            assert message.entries == message.delivery(scenario.kind.letters).letter.entries * message.links


@every_method
def test_states_stay_readable_as_rows(kind: type[Method]) -> None:
    scenario, records = recorded(kind, 1)
    firsts = [next(r.rows[node] for r in records if r.rows.get(node)) for node in records[-1].rows]
    assert all(isinstance(row, states.Kept) and row.form == "base" for row in firsts)
    assert digest(records) == digest(run_scenario(scenario))
