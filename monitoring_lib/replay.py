"""Drives the methods of one monitor, and the judge, over epochs one after the other.

The same rules hold wherever epochs are run: who is on the roster, what a site takes in when it observes, and
what has left its window by then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from monitoring_lib.engine import Network, Settled
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Method, Moment, Verdict
from monitoring_lib.network import node_of_site


@dataclass
class Roster:
    """Nodes of the sites known at an epoch: those listed before, all with an event up to then; sorted."""

    nodes: tuple[str, ...] = ()

    def admit(self, sites: Iterable[str]) -> bool:
        """Takes in the sites of an epoch; whether any of them was new."""
        new = {node_of_site(site) for site in sites}.difference(self.nodes)
        if new:
            self.nodes = tuple(sorted((*self.nodes, *new)))
        return bool(new)


@dataclass
class History:
    """What the sites took in that a sliding window will give back, by node and epoch.

    What a site counted in an epoch in which it was missing never arrives, so it never leaves either; what
    leaves while it is missing leaves when it is back.
    """

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
                expiring[node] = reduce(lambda one, other: one.merge(other), map(held.pop, left))
            if node in arriving:
                held[epoch] = arriving[node]
            self.seen[node] = epoch
        return arriving, expiring


@dataclass(frozen=True, slots=True)
class Step:
    """One epoch of one method: who was there, what was said and published, what the judge found."""

    moment: Moment
    method: str
    settled: Settled
    verdicts: list[Verdict]


class Replay:
    """Methods of one question under one window, side by side over epochs; `sites` are known before."""

    def __init__(self, clock: Clock, methods: Sequence[Method], sites: Iterable[str] = ()) -> None:
        first = methods[0].ask
        self.clock = clock
        self.window = first.window
        self._networks = {method.name: Network(method) for method in methods}
        self._truth = methods[0].question.truth(first)
        self._empty = methods[0].question.summary(first).empty()
        self._roster = Roster()
        self._roster.admit(sites)
        self._history = History(self.window)
        self._topologies = {method.name: method.topology(self._roster.nodes) for method in methods}

    @property
    def sites(self) -> tuple[str, ...]:
        """The nodes of the sites known so far."""
        return self._roster.nodes

    def step(self, epoch: int, synopses: Mapping[str, Any], missing: Collection[str] = ()) -> list[Step]:
        """The next epoch, given the synopses of the sites that have one; `missing` sites are set aside."""
        if self._roster.admit(synopses):
            self._topologies = {
                name: network.method.topology(self._roster.nodes) for name, network in self._networks.items()
            }
        moments = self._moments(epoch, frozenset(map(node_of_site, missing)))
        judged = next(iter(moments.values()))
        by_node = {node_of_site(site): synopsis for site, synopsis in synopses.items()}
        arriving, expiring = self._history.observe(epoch, by_node, judged.present)
        for node in judged.present:
            self._truth.observe(judged, node, arriving.get(node, self._empty), expiring.get(node, self._empty))
        steps = []
        for name, network in self._networks.items():
            settled = network.step(moments[name], arriving, expiring)
            verdicts = self._truth.judge(moments[name], settled.answers)
            steps.append(Step(moments[name], name, settled, verdicts))
        return steps

    def _moments(self, epoch: int, missing: frozenset[str]) -> dict[str, Moment]:
        start, end, period = (
            self.clock.start_of(epoch),
            self.clock.end_of(epoch),
            self.window.period_of(epoch),
        )
        return {
            name: Moment(epoch, start, end, period, topology, self._roster.nodes, missing)
            for name, topology in self._topologies.items()
        }
