"""Runs of aggregates for `benchmarks.aggregates`: methods over tables of values, judged or only counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._aggregates_traces import Trace
from monitoring_lib.engine import Network
from monitoring_lib.epochs import Clock
from monitoring_lib.methods import Ask, Method, Moment
from monitoring_lib.names import Names
from monitoring_lib.network import node_of_site
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.aggregates.question import AggregatesParams
from monitoring_lib.protocols.aggregates.readings import Readings
from monitoring_lib.replay import Replay
from monitoring_lib.summaries import Measure
from monitoring_lib.topology import Roster

Queries = Sequence[Mapping[str, Any]]


def method(
    name: str, queries: Queries, ticks: int, scale: int = 1, publish: str = "epoch", **options: Any
) -> Method:  # fmt: skip
    params = AggregatesParams.model_validate({"queries": queries, "value": "last(value)", "publish": publish})
    kind = find_method("aggregates", name)
    measure = Measure("last", "value")
    return kind(Ask(params, kind.Options(**options), scale=scale, measure=measure, epoch=ticks, tick=1))


@dataclass
class Cost:
    entries: int = 0
    verdicts: int = 0
    broken: int = 0


def replayed(trace: Trace, running: Method, most: int | None = None) -> tuple[Cost, list[Any]]:
    """Every epoch, judged; also the answers and verdicts of each."""
    replay, cost, rows = Replay(Clock(0, trace.ticks), [running]), Cost(), []
    for epoch, synopses in enumerate(islice(trace.epochs(), most)):
        present = {site: part for site, part in synopses.items() if len(part)}
        (step,) = replay.step(epoch, dict.fromkeys(present, ()), {running.summary(): present})
        cost.entries += sum(message.entries for message in step.settled.messages)
        cost.verdicts += len(step.verdicts)
        cost.broken += len(step.verdicts.where_broken())
        rows.append((step.settled.answers, step.verdicts))
    return cost, rows


def sent(running: Method, sites: Mapping[str, Mapping[str, NDArray[np.int64]]], skip: int = 0) -> dict[str, float]:
    """Entries a tick by kind of message, after the first `skip` epochs; `sites` holds series by object."""
    ticks = running.ask.ticks
    length = len(next(iter(next(iter(sites.values())).values()))) // ticks
    nodes = tuple(map(node_of_site, sites))
    topology = running.topology(Roster(nodes, {}))
    network, found = Network(running), dict.fromkeys(("new-bounds", "new-widths"), 0)
    for epoch in range(length):
        arriving = {node: _epoch(parts, epoch, ticks) for node, parts in zip(nodes, sites.values(), strict=True)}
        moment = Moment(epoch, epoch * ticks, (epoch + 1) * ticks, 0, topology, nodes)
        settled = network.step(moment, arriving, {})
        if epoch >= skip:
            for message in settled.messages:
                found[message.kind] = found.get(message.kind, 0) + message.entries
    return {kind: count / ((length - skip) * ticks) for kind, count in found.items()}


def _epoch(parts: Mapping[str, NDArray[np.int64]], epoch: int, ticks: int) -> Readings:
    at = np.arange(epoch * ticks, (epoch + 1) * ticks)
    values = [series[epoch * ticks : (epoch + 1) * ticks] for series in parts.values()]
    return Readings(Names(list(parts)), np.full(len(parts), ticks), np.tile(at, len(parts)), np.concatenate(values))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
