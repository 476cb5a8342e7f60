"""Sites with given events, epoch after epoch; an epoch is one tick unless said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from monitoring_lib.codec import Names
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.replay import Replay, Step
from monitoring_lib.tick_counts import TickCounts

Epoch = Mapping[str, Mapping[str, int]]
"""By site, how often each item occurs."""


def method(kind: type[Method], params: Keys, span: int, ticks: int = 1, **options: object) -> Method:
    window = Window(length=-(-span // ticks))
    return kind(Ask(params, kind.Options(**options), window, epoch=ticks, tick=1, span=span))


def counts(tick: int, items: Mapping[str, int]) -> TickCounts:
    names = sorted(items)
    return TickCounts(
        np.full(len(names), tick, np.int64), Names(names), np.array([items[name] for name in names], np.int64)
    )


def run(
    methods: Sequence[Method], epochs: Sequence[Epoch], missing: Mapping[int, Collection[str]] | None = None
) -> list[Step]:
    """One step an epoch and method; events lie in the epoch's last tick. Sites join when they are first named."""
    replay, steps, ticks = Replay(Clock(0, methods[0].ask.ticks), methods), [], methods[0].ask.ticks
    for epoch, sites in enumerate(epochs):
        made = {site: counts((epoch + 1) * ticks - 1, items) for site, items in sites.items() if items}
        steps += replay.step(
            epoch, dict.fromkeys(sites, ()), {methods[0].summary(): made}, (missing or {}).get(epoch, ())
        )
    return steps


def broken(steps: Sequence[Step]) -> list[object]:
    """What was promised for always and not kept."""
    return [
        (step.moment.epoch, found)
        for step in steps
        for found in step.verdicts
        if not found.kept and found.confidence == 1
    ]
