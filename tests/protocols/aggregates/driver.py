"""Objects with given series, epoch after epoch, run through any method, and the exact values by brute force."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from monitoring_lib.epochs import Clock
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import Message
from monitoring_lib.protocols.aggregates.methods import METHODS
from monitoring_lib.protocols.aggregates.question import AggregatesParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.summaries import Cell, Measure
from tests.laws.grouping import synopsis_of

BY_NAME = {kind.name: kind for kind in METHODS}

Series = Mapping[str, Sequence[int | None]]
"""By object: its reading at each tick, None where there is none."""


def method(
    queries: Sequence[Mapping[str, Any]], ticks: int, name: str = "waterfill", *, value: str = "last(value)",
    publish: str = "tick", scale: int = 1, budget: int | None = None, late: Mapping[str, Any] | None = None,
    **options: Any,
) -> Method:  # fmt: skip
    params = AggregatesParams.model_validate(
        {"queries": list(queries), "value": value, "publish": publish, "budget": budget, **(late or {})}
    )
    kind = BY_NAME[name]
    measure = Measure.parse(value)
    return kind(Ask(params, kind.Options(**options), scale=scale, measure=measure, epoch=ticks, tick=1))


class Network:
    """One method over epochs. Object `a/x` lives at site `a`."""

    def __init__(self, running: Method) -> None:
        self.replay = Replay(Clock(0, running.ask.epoch), [running])
        self.method = running
        self.epoch = 0

    def change(self, running: Method) -> None:
        """Goes on under another ask, as the pipeline does where the method says that it can."""
        assert running.continues(self.method.ask)
        network = self.replay._networks[self.method.name]
        for part in (network, network.sites, network.inner):
            part.method = running  # type: ignore[attr-defined]
        for witness in (*self.replay._landed.values(), *self.replay._taken.values()):
            witness.truth.ask = running.ask  # type: ignore[attr-defined]
        self.method = running

    def step(self, series: Series, missing: Collection[str] = ()) -> Step:
        ask = self.method.ask
        by_site: dict[str, list[dict[str, Any]]] = {}
        for name, values in series.items():
            events = by_site.setdefault(name.split("/")[0], [])
            first = self.epoch * ask.ticks
            events += [
                {"object": name, "tick": first + at, "value": value}
                for at, value in enumerate(values) if value is not None
            ]  # fmt: skip
        summary = self.method.summary()
        cell = Cell("", self.epoch, self.epoch * ask.epoch, (self.epoch + 1) * ask.epoch, ask.tick)
        synopses = {site: synopsis_of(summary, cell, events) for site, events in by_site.items() if events}
        (step,) = self.replay.step(self.epoch, dict.fromkeys(by_site, ()), {summary: synopses}, missing)
        self.epoch += 1
        return step

    @property
    def coordinator(self) -> Any:
        return self.replay._networks[self.method.name].inner.states["@coordinator"]


def bounds_sent(steps: Sequence[Step]) -> int:
    return sum(message.entries for step in steps for message in step.settled.messages if message.kind == "new-bounds")


def entries(steps: Sequence[Step]) -> int:
    return sum(message.entries for step in steps for message in step.settled.messages)


def widths_told(step: Step) -> list[Message]:
    return [message for message in step.settled.messages if message.kind == "new-widths"]


def walks(rng: Random, objects: int, ticks: int, steps: Sequence[int] = (1, 3, 10)) -> dict[str, list[int | None]]:
    """Random walks of unequal steps, two objects a site, some of which begin late."""
    found: dict[str, list[int | None]] = {}
    for number in range(objects):
        value, step, begin = rng.randint(-50, 50), rng.choice(steps), rng.choice([0, 0, 0, ticks // 3])
        walk: list[int | None] = []
        for tick in range(ticks):
            value += rng.randint(-step, step)
            walk.append(value if tick >= begin and rng.random() < 0.9 else None)
        walk[begin] = value
        found[f"s{number // 2}/{number}"] = walk
    return found


def cut(series: Series, epoch: int, ticks: int) -> dict[str, Sequence[int | None]]:
    return {name: values[epoch * ticks : (epoch + 1) * ticks] for name, values in series.items()}


def brute_force(running: Method, series: Series) -> dict[tuple[int, str], Fraction]:
    """The exact value of every query at the end of every tick: plain loops over all readings so far."""
    zeros = running.ask.measure.reduction in ("sum", "count")
    found: dict[tuple[int, str], Fraction] = {}
    ticks = max(len(values) for values in series.values())
    last: dict[str, int] = {}
    for tick in range(ticks):
        for name, values in series.items():
            reading = values[tick] if tick < len(values) else None
            if reading is not None:
                last[name] = reading
            elif zeros and name in last:
                last[name] = 0
        for query in running.ask.params.queries:
            named = query.weights if query.weights is not None else query.objects
            members = [name for name in last if named is None or name in named]
            if members:
                found[tick + 1, query.name] = _value(query, {name: last[name] for name in members}) / (
                    1 if query.ask == "count" else running.ask.scale
                )
    return found


def _value(query: Any, values: Mapping[str, int]) -> Fraction:
    weights = query.weights or dict.fromkeys(values, Decimal(1))
    total = sum((Fraction(weights[name]) * value for name, value in values.items()), Fraction(0))
    return {
        "sum": lambda: total,
        "avg": lambda: total / len(values),
        "min": lambda: Fraction(min(values.values())),
        "max": lambda: Fraction(max(values.values())),
        "count": lambda: Fraction(len(values)),
    }[query.ask]()


def with_queries(running: Method, queries: Sequence[Mapping[str, Any]]) -> Method:
    params = AggregatesParams.model_validate({**running.ask.params.model_dump(), "queries": list(queries)})
    return type(running)(replace(running.ask, params=params))
