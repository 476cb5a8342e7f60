"""Sites with given items, epoch after epoch, and what the coordinator publishes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from monitoring_lib.epochs import Clock, Window
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.distinct_count.question import DistinctCountParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.summaries import Cell, Rows, Summary

Epoch = Mapping[str, Collection[str]]
SKETCHED = ("repaid-sharing", "no-sharing", "shared-count", "shared-sketch", "lazily-shared-sketch")


def method(
    name: str = "repaid-sharing", error: float = 0.1, window: Window | None = None, confidence: float = 0.95,
    **options: object,
) -> Method:  # fmt: skip
    kind = find_method("distinct-count", name)
    chosen: Keys = kind.Options(**options)
    return kind(Ask(DistinctCountParams(error=error), chosen, window or Window(), confidence=confidence))


def synopsis(summary: Summary, site: str, epoch: int, items: Iterable[str]) -> object:
    names = pa.array(sorted(set(items)), pa.string())
    ones = pa.array([1] * len(names), pa.int64())
    column = pa.array(hash_strings(names, SPARK_SEED)) if summary.hashed else names
    return summary.build(Cell(site, epoch, epoch, epoch + 1, 1), Rows({"item": column}, ones, ones))


def run(
    running: Method | Sequence[Method],
    epochs: Sequence[Epoch],
    missing: Mapping[int, Collection[str]] | None = None,
) -> list[Step]:
    """One step an epoch and method; a site takes part from the first epoch on in which it is named."""
    methods = [running] if isinstance(running, Method) else running
    replay = Replay(Clock(0, 1), methods)
    steps = []
    for epoch, sites in enumerate(epochs):
        synopses = {
            summary: {site: synopsis(summary, site, epoch, items) for site, items in sites.items() if items}
            for summary in replay.summaries
        }
        steps += replay.step(epoch, dict.fromkeys(sites, ()), synopses, (missing or {}).get(epoch, ()))
    return steps


def estimates(steps: Sequence[Step]) -> list[float]:
    return [row.estimate for step in steps for row in step.settled.answers]


def sent(steps: Sequence[Step]) -> int:
    return sum(message.bytes for step in steps for message in step.settled.messages)


def broken(steps: Sequence[Step]) -> list[object]:
    return [verdict for step in steps for verdict in step.verdicts.where_broken()]


def disjoint_then_all(sites: int, own: int, epochs: int) -> list[dict[str, list[str]]]:
    """The paper's synthetic streams: items of its own at each site, then the items of all, in an order of its own."""
    from random import Random

    items = {f"site-{at:02}": [f"{at}/{number}" for number in range(own)] for at in range(sites)}
    every = [item for listed in items.values() for item in listed]
    orders = {site: Random(site).sample(every, len(every)) for site in items}
    share = len(every) // (epochs - 1)
    later = [{site: order[at * share : (at + 1) * share] for site, order in orders.items()} for at in range(epochs - 1)]
    return [items, *later]
