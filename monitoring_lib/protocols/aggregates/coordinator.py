"""The coordinator: it holds a copy of every filter, answers from their bounds and hands out widths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Ints
from monitoring_lib.errors import DataError, ProtocolError
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Post, site_of_node
from monitoring_lib.protocols.aggregates.budget import dialled, turned
from monitoring_lib.protocols.aggregates.evaluation import Membership, evaluate
from monitoring_lib.protocols.aggregates.filters import whole_steps
from monitoring_lib.protocols.aggregates.letters import Agreed, NewBounds, NewWidths
from monitoring_lib.protocols.aggregates.policy import Policy, Standing
from monitoring_lib.protocols.aggregates.rows import published
from monitoring_lib.protocols.aggregates.stages import Stage, late_stages, without
from monitoring_lib.protocols.aggregates.state import CoordinatorState
from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, UNIT, WidthConstraints, agreed, terms_of, tightened
from monitoring_lib.unstored import Unstored


@dataclass
class EpochWork:
    """One epoch's answers, and what the choice of widths at its end needs to know."""

    answers: Answers
    known: int
    """How many objects there were before the epoch."""
    changed: bool
    entries: int
    moved: int
    """How far the new bounds lie from those before them, summed up: half steps."""


class AggregatesCoordinator(InnerRole[CoordinatorState]):
    """Answers with the sum, mean or extreme of the objects' bounds: the exact value cannot lie outside."""

    State = CoordinatorState

    def __init__(self, ask: Ask, policy: Policy) -> None:
        super().__init__(ask)
        self.policy = policy
        self.terms = terms_of(ask)
        self.agreed = agreed(self.terms)
        self._work: Unstored[EpochWork] = Unstored()
        self._membership: tuple[list[str], Membership] | None = None
        self._constraints: tuple[tuple[list[str], int], WidthConstraints] | None = None

    def start(self, node: str) -> CoordinatorState:
        return CoordinatorState()

    def receive(
        self, state: CoordinatorState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        changed = self._keep_up(state, moment)
        known = len(state.names)
        centres = state.centres.copy()
        ticks, objects, sent = self._heard(state, moment, inbox)
        latency, joined = self.policy.latency, np.arange(len(state.names)) < known
        lost = self._lost(state, moment, changed)
        steps = whole_steps(state.widths, self.policy.filter)
        centres = np.append(centres, np.zeros(len(state.names) - known, np.int64))
        stages = [Stage(self.ask.ticks, centres, steps, joined, lost, (ticks, objects, sent))]
        pads = np.zeros(len(state.names), np.int64)
        if latency.lag:
            stages = self._late(state, moment, stages[0])
            pads += np.array([latency.pads.of(name) for name in state.names], np.int64)
        every_tick = self.ask.params.publish == "tick"
        found = evaluate(self._members(state), self.terms, stages, pads, every_tick)
        partial = self._partial(state, moment, np.logical_or.reduce([stage.lost for stage in stages]))
        answers = published(self.ask, self.terms, moment, found, partial, latency.delayed)
        moved = _moved(objects, sent) if self.ask.params.budget is not None else 0
        self._work.put(state, moment.epoch, EpochWork(answers, known, changed, len(objects), moved))
        return ()

    def _late(self, state: CoordinatorState, moment: Moment, whole: Stage) -> list[Stage]:
        """The epoch as it is known `latency` later."""
        earlier = np.append(state.queue.earlier, state.widths[len(state.queue.earlier) :])
        ticks, objects, _ = whole.heard
        back = np.array([home in moment.returning for home in state.homes], bool)
        first_of_new = np.zeros(len(objects), bool)
        _, firsts = np.unique(objects, return_index=True)
        first_of_new[firsts] = ~whole.joined[objects[firsts]]
        at_once = first_of_new | (back[objects] & (ticks == 0))
        absent = np.array([home in state.absent for home in state.homes], bool)
        stages, state.queue = late_stages(
            state.queue, self.policy.latency, whole, at_once, whole_steps(earlier, self.policy.filter), absent
        )
        return stages

    def _keep_up(self, state: CoordinatorState, moment: Moment) -> bool:
        """Changed queries narrow the copies as each present site narrows its own; those of missing sites wait."""
        changed = state.agreed != self.agreed
        if changed:
            rows = [at for at, home in enumerate(state.homes) if home not in moment.missing]
            widths, labels = state.widths.copy(), self._labels(state)
            widths[rows] = tightened(widths[rows], [labels[at] for at in rows], state.agreed, self.terms)
            state.widths = widths
        state.agreed = dict(self.agreed)
        period = self.policy.period
        if period and state.counted != moment.epoch // period:
            state.counted = moment.epoch // period
            state.sent = np.zeros(len(state.names), np.int64)
        return changed

    def _heard(self, state: CoordinatorState, moment: Moment, inbox: Sequence[Delivery]) -> tuple[Ints, Ints, Ints]:
        """Ticks, objects and doubled centres of all new bounds, those of an object in order of time."""
        rows: dict[str, list[int]] = {}
        for at, home in enumerate(state.homes):
            rows.setdefault(home, []).append(at)
        parts: list[tuple[Ints, Ints, Ints]] = []
        for delivery in inbox:
            letter, own = delivery.letter, rows.setdefault(delivery.sender, [])
            if not isinstance(letter, NewBounds):
                self.policy.take(state, moment, [state.names[at] for at in own], letter)
                continue
            if letter.names:
                own += self._join(state, delivery.sender, letter.names, len(own))
            parts.append((letter.ticks, np.array(own, np.int64)[letter.places], letter.centres))
        if not parts:
            none = np.empty(0, np.int64)
            return none, none, none
        ticks, objects, sent = (np.concatenate(column) for column in zip(*parts, strict=True))
        centres = state.centres.copy()
        centres[objects] = sent  # of several for one object the last is kept
        state.centres = centres
        if self.policy.period:
            state.sent = state.sent + np.bincount(objects, minlength=len(state.names))
        return ticks, objects, sent

    def _join(self, state: CoordinatorState, site: str, names: Sequence[str], place: int) -> list[int]:
        homes = dict(zip(state.names, state.homes, strict=True))
        for name in names:
            if name in homes:
                raise DataError(
                    f"object {name!r} shows up at site {site_of_node(site)!r} and lives at"
                    f" {site_of_node(homes[name])!r}: an object of `aggregates` lives at one site;"
                    " let `object` name the site too, such as concat(site, '/', item)"
                )
        first, more = len(state.names), np.zeros(len(names), np.int64)
        state.names, state.homes = [*state.names, *names], [*state.homes, *([site] * len(names))]
        state.places = np.append(state.places, np.arange(place, place + len(names)))
        state.centres = np.append(state.centres, more)
        starting = self.policy.starting(self.policy.labelled(names, [site] * len(names)))
        state.widths = np.append(state.widths, np.array(starting, np.int64))
        if self.policy.period:
            state.sent = np.append(state.sent, more)
        return list(range(first, len(state.names)))

    def _lost(self, state: CoordinatorState, moment: Moment, changed: bool = False) -> NDArray[np.bool_]:
        """Objects of sites that did not report.

        Those of a site that left the roster hold their bounds for one epoch more, if it kept them up to then.
        """
        gone = set(state.homes if changed else state.absent) - set(moment.sites)
        if not gone and not moment.missing:
            return np.zeros(len(state.homes), bool)
        return np.array([home in moment.missing or home in gone for home in state.homes], bool)

    def _partial(self, state: CoordinatorState, moment: Moment, lost: NDArray[np.bool_]) -> list[bool]:
        """Whether a query may lack something: an object that is lost, or one that a missing site may have."""
        unheard = {name for name, gone in zip(state.names, lost, strict=True) if gone}
        if not moment.missing and not unheard:
            return [False] * len(self.terms)
        known = set(state.names)
        return [
            term.weights is None
            or not unheard.isdisjoint(term.weights)
            or (bool(moment.missing) and not known.issuperset(term.weights))
            for term in self.terms
        ]

    def _labels(self, state: CoordinatorState) -> list[str]:
        return self.policy.labelled(state.names, state.homes)

    def _members(self, state: CoordinatorState) -> Membership:
        if self._membership is None or self._membership[0] != state.names:
            self._membership = state.names, Membership.of(self.terms, self._labels(state))
        return self._membership[1]

    def close(self, state: CoordinatorState, moment: Moment) -> Iterable[Post]:
        work = self._done(state, moment)
        fresh = np.arange(len(state.names)) >= work.known
        fresh = fresh[self._drop_retired(state, moment)]
        state.absent = sorted(moment.missing)
        if self.policy.latency.lag:
            state.queue.earlier = state.widths.copy()
        lost = self._lost(state, moment)
        labels = self._labels(state)
        if self.policy.ends_period(moment.epoch):
            shrunk = self.policy.shrunk(moment, self.terms, labels, state.widths, state.sent)
            state.widths = np.where(lost, state.widths, shrunk)
        turned_ = self.ask.params.budget is not None and turned(self.ask.params.budget, state, work.entries, work.moved)
        standing = Standing(labels, state.widths, state.sent, fresh, lost, work.changed or turned_)
        widths = self.policy.targets(state, moment, standing, self._rows(state))
        changes = np.flatnonzero(widths != state.widths)
        state.widths = widths
        self._work.settle(state, moment.epoch)
        state.spent = len(changes) if self.ask.params.budget is not None else 0
        if work.changed:  # else a missing site would narrow widths of now by the queries of then
            for site in sorted(moment.missing & set(state.homes)):
                yield Post(site, Agreed(state.agreed), "changed queries")
        sites: dict[str, list[int]] = {}
        for at in changes.tolist():
            sites.setdefault(state.homes[at], []).append(at)
        for site, rows in sorted(sites.items()):
            yield Post(site, NewWidths(state.places[rows], widths[rows]), "new width")

    def _rows(self, state: CoordinatorState) -> WidthConstraints:
        key = state.names, state.dial
        if self._constraints is None or self._constraints[0] != key:
            labels = self._labels(state)
            self._constraints = key, WidthConstraints.of(dialled(self.terms, state.dial, labels), labels)
        return self._constraints[1]

    def _drop_retired(self, state: CoordinatorState, moment: Moment) -> list[int]:
        """Sites that left the roster have taken part for the last time; the rows of all other objects."""
        here = set(moment.sites)
        kept = [at for at, home in enumerate(state.homes) if home in here]
        if len(kept) < len(state.homes):
            state.names, state.homes = [state.names[at] for at in kept], [state.homes[at] for at in kept]
            state.places, state.centres, state.widths = state.places[kept], state.centres[kept], state.widths[kept]
            state.sent = state.sent[kept] if self.policy.period else state.sent
            state.queue = without(state.queue, kept) if self.policy.latency.lag else state.queue
        return kept

    def _done(self, state: CoordinatorState, moment: Moment) -> EpochWork:
        work = self._work.of_epoch(state, moment.epoch)
        if work is None:
            raise ProtocolError(f"{COORDINATOR} is asked for epoch {moment.epoch} before it has taken it in")
        return work

    def answers(self, state: CoordinatorState, moment: Moment) -> Answers:
        return self._done(state, moment).answers

    def certificate(self, state: CoordinatorState, moment: Moment) -> str:
        bound = state.widths[state.widths < UNBOUNDED]
        widths = int(bound.sum()) / UNIT / self.ask.scale
        return (
            f"A site sends a message as soon as one of {len(state.names):,} objects leaves its filter; the widths of"
            f" the {len(bound):,} filters that a precision binds add up to {widths:,g}, within what every query allows."
        )

    def faults(self, state: CoordinatorState) -> Sequence[str]:
        constraints = self._rows(state)
        over = np.flatnonzero(constraints.left(state.widths) < 0)
        faults = [f"row {row} of the queries' constraints is overfull" for row in over]
        if (state.widths > constraints.caps).any():
            faults.append("a width exceeds the precision of a minimum or maximum")
        return faults


def _moved(objects: Ints, sent: Ints) -> int:
    """How far the bounds of each object, given in order of time, lie from each other, summed up: half steps."""
    order = np.argsort(objects, kind="stable")
    same = np.diff(objects[order]) == 0
    return int(np.abs(np.diff(sent[order]))[same].sum())
