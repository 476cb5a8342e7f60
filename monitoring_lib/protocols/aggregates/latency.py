"""Bounds that arrive late: by up to a latency allowance, for the paper's filter only (section 4).

A bound is applied a fixed number of ticks, `lag`, after the tick that it carries, whenever it arrived before that. So
what the coordinator knows at tick t is what held at t - lag. Without a known rate of change the row says just that: it
is published `lag` ticks later, for the tick t - lag. With one, the row is for tick t and every bound is padded on both
sides by what a value can have changed meanwhile; rows of the queries have that much less width to give.

A width that shrinks does so at its source at once and at the coordinator `lag` ticks later, one that grows does so at
both ends `lag` ticks later: then a bound that is under way never meets a narrower width than it was made with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.epochs import format_duration, parse_duration
from monitoring_lib.errors import DataError
from monitoring_lib.methods import Ask
from monitoring_lib.network import site_of_node


@dataclass(frozen=True)
class Pads:
    """By object: whole steps by which its value can change in `lag` ticks."""

    others: int = 0
    named: Mapping[str, int] = field(default_factory=dict)

    def of(self, name: str) -> int:
        return self.named.get(name, self.others)

    @property
    def largest(self) -> int:
        return max([self.others, *self.named.values()])


@dataclass(frozen=True)
class Latency:
    """`lag` is in ticks, 0 where bounds are never late; `padded` says whether a rate of change is known."""

    lag: int = 0
    padded: bool = False
    pads: Pads = field(default_factory=Pads)
    rates: Mapping[str, Fraction] = field(default_factory=dict)
    """By object, in steps a tick; under '' that of all others."""

    @classmethod
    def of(cls, ask: Ask) -> Latency:
        if ask.params.latency is None:
            return cls()
        lag, change = parse_duration(ask.params.latency) // ask.tick, ask.params.change
        if change is None:
            return cls(lag)
        told = change if isinstance(change, Mapping) else {"": change}
        rates = {name: Fraction(rate) * ask.scale for name, rate in told.items()}
        pads = {name: int(rate * lag) for name, rate in rates.items()}
        return cls(lag, True, Pads(pads.pop("", 0), pads), rates)

    @property
    def delayed(self) -> int:
        """By how many ticks the rows lie behind the epoch."""
        return 0 if self.padded else self.lag

    def refuse_jumps(self, node: str, names: list[str], before: Ints, values: Ints, firsts: Ints, known: Any) -> None:
        """DataError where a value changes faster than was promised; `before` are those of the epoch before."""
        for place, name in enumerate(names):
            first = int(firsts[place])
            series = values[place, first:]
            moves = np.abs(np.diff(series, prepend=before[place] if known[place] else series[0]))
            rate = self.rates.get(name, self.rates.get("", Fraction(0)))
            if len(moves) and int(moves.max()) > rate:
                raise DataError(
                    f"site {site_of_node(node)!r}: object {name!r} changes by {int(moves.max())} steps in a tick, where"
                    f" `change` promises at most {float(rate):g}; raise `change`, or drop it and have rows that lie"
                    " `latency` behind"
                )


def faults(ask: Ask) -> Iterator[KeyFault]:
    """What is wrong with `latency` and `change`, and with queries whose precision the padding uses up."""
    params = ask.params
    if params.latency is None:
        if params.change is not None:
            yield KeyFault(("change",), "pads nothing while bounds are never late", "add `latency`, or drop it")
        return
    length = parse_duration(params.latency)
    if length <= 0 or length % ask.tick or length >= ask.epoch:
        yield KeyFault(
            ("latency",), f"{params.latency} is not a whole number of ticks of {format_duration(ask.tick)} shorter than"
            " the epoch", "write such a length, or a shorter `tick`",
        )  # fmt: skip
        return
    if params.change is not None:
        yield from _padding_faults(ask, Latency.of(ask))


def _padding_faults(ask: Ask, latency: Latency) -> Iterator[KeyFault]:
    if ask.params.budget is not None:
        yield KeyFault(("change",), "a budget finds the precision, which padding needs to know", "drop one of them")
    for at, query in enumerate(ask.params.queries):
        path = ("queries", at)
        named = tuple(query.weights or query.objects or ())
        if isinstance(ask.params.change, Mapping):
            unknown = [name for name in named if name not in ask.params.change]
            if unknown or (query.objects is None and query.weights is None):
                whose = repr(unknown[0]) if unknown else "all objects"
                yield KeyFault(("change",), f"query {query.name!r} needs the rate of {whose}", "write one for all")
                continue
        if query.precision is None or query.ask == "count":
            continue
        if query.ask == "sum" and not named:
            yield KeyFault(
                (*path, "objects"), "padding needs to know the objects of a sum", "name them, or ask for an avg"
            )
            continue
        pads = [latency.pads.of(name) for name in named] or [latency.pads.others]
        weights = [abs(Fraction((query.weights or {}).get(name, 1))) for name in named] or [Fraction(1)]
        used = 2 * (sum(p * w for p, w in zip(pads, weights, strict=True)) if query.ask == "sum" else max(pads))
        if Fraction(used, 1) > Fraction(query.precision) * ask.scale:
            yield KeyFault(
                (*path, "precision"), f"late bounds are padded by {float(Fraction(used) / ask.scale):g} in all",
                "write at least that, a smaller `change` or a shorter `latency`",
            )  # fmt: skip
