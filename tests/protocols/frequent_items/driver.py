"""Runs a method over given counts, epoch by epoch, and says what crossed each link."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from monitoring_lib.engine import Network
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Method, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.frequent_items.bounds import Bounds
from monitoring_lib.protocols.frequent_items.question import FrequentItemsParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Roster
from monitoring_lib.traffic import Loads

Sums = Mapping[str, int]


def method(
    support: str = "0.1", error: str = "0.05", decay: str = "1", tree: Mapping[str, Any] | None = None,
    kind: type[Method] = Bounds, window: Window | None = None, scale: int = 1, **options: Any,
) -> Method:  # fmt: skip
    params = FrequentItemsParams(
        support=Decimal(support), error=Decimal(error), decay=Decimal(decay), tree=dict(tree or {"fanout": 6})
    )
    return kind(Ask(params, kind.Options(**options), window or Window(), scale))


def run(
    running: Method | Sequence[Method], epochs: Sequence[Mapping[str, Sums]],
    missing: Mapping[int, Collection[str]] | None = None, places: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Step]:  # fmt: skip
    """A step for each method an epoch; a site takes part from the first epoch on in which it is named."""
    methods = [running] if isinstance(running, Method) else list(running)
    replay = Replay(Clock(0, 1), methods)
    steps = []
    for epoch, sites in enumerate(epochs):
        synopses = {site: Counts.of_pairs(sums.items()) for site, sums in sites.items() if sums}
        known = {site: (places or {}).get(site, ()) for site in sites}
        steps += replay.step(epoch, known, {methods[0].summary(): synopses}, (missing or {}).get(epoch, ()))
    return steps


def root_states(running: Method, epochs: Sequence[Mapping[str, Sums]]) -> Iterator[Any]:
    """The root's state after each epoch of a network whose sites are all there from the start."""
    network = Network(running)
    sites = tuple(sorted(epochs[0]))
    tree = running.topology(Roster(sites, dict.fromkeys(sites, ())))
    for epoch, counts in enumerate(epochs):
        moment = Moment(epoch, epoch, epoch + 1, 0, tree, sites)
        network.step(moment, {site: Counts.of_pairs(sums.items()) for site, sums in counts.items()}, {})
        yield network.inner.states[COORDINATOR]


def items(step: Step) -> dict[str, tuple[float, float, float]]:
    """Item to low, estimate, high."""
    return {row.key: (row.low, row.estimate, row.high) for row in step.settled.answers if row.rank is not None}


def total(step: Step) -> float | None:
    rows = [row.estimate for row in step.settled.answers if row.rank is None]
    return rows[0] if rows else None


def broken(steps: Sequence[Step]) -> list[Any]:
    return [(step.moment.epoch, step.method, verdict) for step in steps for verdict in step.verdicts.where_broken()]


def loads(step: Step) -> tuple[int, int, int]:
    """Root load, the heaviest link that does not end at the root, the heaviest of all."""
    found = Loads()
    found.add(step.moment, step.settled.messages)
    below = [load for (_, upper), load in found.by_link.items() if upper != COORDINATOR]
    heaviest = found.heaviest
    return found.root, max(below, default=0), heaviest[1] if heaviest else 0
