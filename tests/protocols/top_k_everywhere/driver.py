"""Sites with given sums, epoch after epoch, and what each of them publishes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.top_k_everywhere.methods import Topico
from monitoring_lib.protocols.top_k_everywhere.question import TopKEverywhereParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.synopses.counts import Counts

Sums = Mapping[str, int]


def method(k: int, window: Window | None = None, kind: type[Method] = Topico, **options: object) -> Method:
    chosen: Keys = kind.Options(**options)
    return kind(Ask(TopKEverywhereParams(k=k), chosen, window or Window()))


def run(
    running: Method, epochs: Sequence[Mapping[str, Sums]], missing: Mapping[int, Collection[str]] | None = None
) -> list[Step]:
    """One step an epoch; a site takes part from the first epoch on in which it is named."""
    replay = Replay(Clock(0, 1), [running])
    steps = []
    for epoch, sites in enumerate(epochs):
        synopses = {site: Counts.of_pairs(sums.items()) for site, sums in sites.items() if sums}
        steps += replay.step(
            epoch, dict.fromkeys(sites, ()), {running.summary(): synopses}, (missing or {}).get(epoch, ())
        )
    return steps


def views(step: Step) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {node: [] for node in step.moment.present}
    for row in step.settled.answers:
        found[row.node].append((row.key, row.estimate))
    return found


def exact(sites: Sequence[Sums], k: int) -> list[tuple[str, float]]:
    totals: dict[str, int] = {}
    for sums in sites:
        for item, value in sums.items():
            totals[item] = totals.get(item, 0) + value
    ranked = sorted(((item, float(value)) for item, value in totals.items() if value > 0), key=lambda p: (-p[1], p[0]))
    return ranked[:k]
