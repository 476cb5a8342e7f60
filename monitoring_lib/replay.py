"""Drives the methods of one monitor, and the judge, over epochs one after the other.

The same rules hold wherever epochs are run: who is on the roster, what a site takes in when it observes, and
what has left its window by then.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.engine import Network, Settled
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Method, Moment, Question, Truth
from monitoring_lib.network import node_of_site
from monitoring_lib.summaries import Cell, Summary
from monitoring_lib.topology import Roster

Synopses = Mapping[str, Any]
"""By site."""


@dataclass
class History:
    """What the sites took in that a sliding window will give back, by node and epoch.

    What a site counted in an epoch in which it was missing never arrives, so it never leaves either; what
    leaves while it is missing leaves when it is back.
    """

    summary: Summary
    window: Window
    seen: dict[str, int] = field(default_factory=dict)
    held: dict[str, dict[int, Any]] = field(default_factory=dict)

    def observe(
        self, epoch: int, synopses: Mapping[str, Any], present: Sequence[str]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What arrives and what expires at each present node in this epoch, where there is anything."""
        arriving = {node: synopses[node] for node in present if node in synopses}
        if self.window.length is None:
            return arriving, {}
        expiring: dict[str, Any] = {}
        for node in present:
            held = self.held.setdefault(node, {})
            left = [at for at in self.window.leaving(self.seen.get(node, epoch - 1), epoch) if at in held]
            if left:
                expiring[node] = self.summary.merge([held.pop(at) for at in left])
            if node in arriving:
                held[epoch] = arriving[node]
            self.seen[node] = epoch
        return arriving, expiring


@dataclass
class Witness:
    """A truth and the events that it has seen: all that landed, or only what the sites took in."""

    summary: Summary
    truth: Truth
    history: History
    tick: int

    @classmethod
    def of(cls, question: Question, ask: Any) -> Witness:
        summary = question.exact(ask)
        return cls(summary, question.truth(ask), History(summary, ask.window), ask.tick)

    def observe(self, moment: Moment, synopses: Mapping[str, Any]) -> None:
        arriving, expiring = self.history.observe(moment.epoch, synopses, moment.present)
        nothing = self.summary.empty(Cell("", moment.epoch, moment.start, moment.end, self.tick))
        for node in moment.present:
            self.truth.observe(moment, node, arriving.get(node, nothing), expiring.get(node, nothing))


@dataclass(frozen=True, slots=True)
class Step:
    """One epoch of one method: who was there, what was said and published, what the judge found."""

    moment: Moment
    method: str
    settled: Settled
    verdicts: Verdicts


class Replay:
    """Methods of one question under one window, side by side over epochs; `sites` are known before.

    A step goes by its method's name; where one method runs several times, as under several seeds, by those in `names`.
    An answer that is not partial is judged against all events that have landed, a partial one against what the
    sites took in. Without the truth's synopses nothing can be `judged`, and no step has verdicts.
    """

    def __init__(
        self, clock: Clock, methods: Sequence[Method], sites: Iterable[str] = (), names: Sequence[str] = (),
        judged: bool = True,
    ) -> None:  # fmt: skip
        named = dict(zip(names or [method.name for method in methods], methods, strict=True))
        first = methods[0].ask
        self.clock = clock
        self.window = first.window
        exact = [methods[0].question.exact(first)] if judged else []
        self.summaries: tuple[Summary, ...] = tuple(dict.fromkeys([*exact, *(method.summary() for method in methods)]))
        """What `step` must be given the synopses of; the first is the truth's."""
        self._networks = {name: Network(method) for name, method in named.items()}
        self._histories = {
            summary: History(summary, self.window if any(_expires(m, summary) for m in methods) else Window())
            for summary in self.summaries
        }
        self._landed = _witnesses(named) if judged else {}
        self._taken = self._landed
        self._owed: set[int] = set()
        self._present: frozenset[str] = frozenset()
        self._rosters = {name: Roster() for name in named}
        self._topologies: dict[str, Any] = {}
        self._join(dict.fromkeys(sites, ()))

    @property
    def sites(self) -> tuple[str, ...]:
        """The nodes of the sites known so far."""
        return next(iter(self._rosters.values())).sites

    def step(
        self,
        epoch: int,
        sites: Mapping[str, tuple[str, ...]],
        synopses: Mapping[Summary, Synopses],
        missing: Collection[str] = (),
        set_aside: bool = False,
    ) -> list[Step]:
        """The next epoch: the sites with any event and their placement, and the synopses of those that have one.

        Sites that are `missing` are set aside: what they have counted is owed, as far as their synopses show it, or
        `set_aside` says so.
        """
        self._join(sites)
        by_node = {
            summary: {node_of_site(site): synopsis for site, synopsis in synopses.get(summary, {}).items()}
            for summary in self.summaries
        }
        absent = frozenset(map(node_of_site, missing))
        if set_aside or any(not absent.isdisjoint(found) for found in by_node.values()):
            self._owed.add(epoch)
        moments = self._moments(epoch, absent)
        judged = next(iter(moments.values()))
        self._witness(judged, by_node[self.summaries[0]])
        inputs = {
            summary: history.observe(epoch, by_node[summary], judged.present)
            for summary, history in self._histories.items()
        }
        steps = []
        for name, network in self._networks.items():
            arriving, expiring = inputs[network.method.summary()]
            settled = network.step(moments[name], arriving, expiring if network.method.needs_expiring else {})
            steps.append(Step(moments[name], name, settled, self._judged(name, moments[name], settled)))
        return steps

    def _join(self, sites: Mapping[str, tuple[str, ...]]) -> None:
        new = {node_of_site(site): placement for site, placement in sites.items()}
        for name, network in self._networks.items():
            wants = len(network.method.placement())
            roster = self._rosters[name].joined({node: placement[:wants] for node, placement in new.items()})
            if roster is not self._rosters[name] or name not in self._topologies:
                self._rosters[name] = roster
                self._topologies[name] = network.method.topology(roster)

    def _witness(self, moment: Moment, synopses: Mapping[str, Any]) -> None:
        if moment.missing and self._taken is self._landed:
            self._taken = copy.deepcopy(self._landed)
        for witness in _each_once(self._landed):
            witness.observe(replace(moment, missing=frozenset(), owed=False), synopses)
        if self._taken is not self._landed:
            for witness in _each_once(self._taken):
                witness.observe(moment, synopses)

    def _judged(self, method: str, moment: Moment, settled: Settled) -> Verdicts:
        if not self._landed:
            return Verdicts.of([])
        witnesses = self._taken if is_partial(moment, settled.answers) else self._landed
        return witnesses[method].truth.judge(moment, settled.answers)

    def _moments(self, epoch: int, missing: frozenset[str]) -> dict[str, Moment]:
        owed = not self._owed.isdisjoint(self.window.members(epoch))
        start, end, period = self.clock.start_of(epoch), self.clock.end_of(epoch), self.window.period_of(epoch)
        present = frozenset(self.sites) - missing
        returning, self._present = present - self._present, present
        return {
            name: Moment(epoch, start, end, period, topology, self._rosters[name].sites, missing, owed, returning)
            for name, topology in self._topologies.items()
        }


def is_partial(moment: Moment, answers: Answers) -> bool:
    """Whether an epoch's answer lacks something; one without rows cannot say so itself."""
    return moment.owed or answers.any_partial or (bool(moment.missing) and not len(answers))


def _witnesses(methods: Mapping[str, Method]) -> dict[str, Witness]:
    """One for all methods, or one for each where what is promised depends on a method's options."""
    first = next(iter(methods.values()))
    if first.question.judged_by_options:
        return {name: Witness.of(method.question, method.ask) for name, method in methods.items()}
    return dict.fromkeys(methods, Witness.of(first.question, first.ask))


def _each_once(witnesses: Mapping[str, Witness]) -> list[Witness]:
    """The witnesses that methods may share."""
    return list({id(witness): witness for witness in witnesses.values()}.values())


def _expires(method: Method, summary: Summary) -> bool:
    return method.needs_expiring and method.summary() == summary
