"""Drives the methods of recent-counts over plain events: (site, tick, item)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.protocols.recent_counts.queries import RecentCountsParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.summaries import Cell
from tests.laws.grouping import synopsis_of

TICK = 1_000_000
TICKS = 10
"""Ticks an epoch."""
EPOCH = TICKS * TICK

Event = tuple[str, int, str]


def ask(
    queries: Sequence[dict[str, Any]], error: float = 0.1, span: int = 30, bits: int | None = None,
    kind: type[Method] = Merged, confidence: float = 0.95, **options: Any,
) -> Ask:  # fmt: skip
    params = RecentCountsParams(error=error, queries=queries, bits=bits)
    window = Window(-(-span // TICKS))
    return Ask(params, kind.Options(**options), window, epoch=EPOCH, tick=TICK, span=span, confidence=confidence)


class Driver:
    """One monitor under one method; `step` is the next epoch."""

    def __init__(self, method: Method, sites: Iterable[str] = ()) -> None:
        self.method, self.epoch = method, 0
        self.replay = Replay(Clock(0, EPOCH), [method], sites)

    @property
    def root(self) -> Any:
        return next(iter(self.replay._networks.values())).inner.states["@coordinator"]

    def state(self, site: str) -> Any:
        return next(iter(self.replay._networks.values())).sites.states[site]

    def step(self, events: Sequence[Event] = (), missing: Collection[str] = ()) -> Step:
        start = self.epoch * EPOCH
        by_site: dict[str, list[dict[str, Any]]] = {}
        for site, tick, item in sorted(events, key=lambda event: event[1]):
            assert tick // TICKS == self.epoch
            by_site.setdefault(site, []).append({"tick": tick, "item": item})
        synopses = {
            summary: {
                site: synopsis_of(summary, Cell(site, self.epoch, start, start + EPOCH, TICK), found)
                for site, found in by_site.items()
            }
            for summary in self.replay.summaries
        }
        steps = self.replay.step(self.epoch, dict.fromkeys(by_site, ()), synopses, missing)
        self.epoch += 1
        return steps[0]


def rows(step: Step) -> dict[str, Any]:
    return {row.key: row for row in step.settled.answers}


def certainly_kept(step: Step) -> bool:
    return not [verdict for verdict in step.verdicts if verdict.confidence == 1 and not verdict.kept]
