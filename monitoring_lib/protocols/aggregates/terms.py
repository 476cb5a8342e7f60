"""The queries in whole numbers: what each one weighs, and how wide the bounds of its objects may be.

Values are whole steps of the measure (value times scale). Widths are whole numbers of 1/1024 of a step (`UNIT`), so
that both ends of a filter agree to the last bit; of a width only the whole steps count where it meets a value.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.aggregates.groups import Group, GroupedObject
from monitoring_lib.protocols.aggregates.latency import Latency, Pads

UNIT = 1024
UNBOUNDED = 1 << 62
"""The width of an object that no query's precision binds: it is never heard of after its first reading."""
WIDEST = 1 << 60
"""A bound of a row beyond this counts as this, so that sums of widths stay within 64 bits."""

Widths = NDArray[np.int64]
AgreedTexts = dict[str, str]
"""By the name of a query: what it is about and its precision, as nodes remember them to notice a change."""


@dataclass(frozen=True)
class Term:
    """One query: ``H - L <= precision`` where it binds. Weights are whole numbers over `denominator`."""

    name: str
    ask: str
    weights: Mapping[str, int] | None
    """By object; None: every object, with weight 1."""
    denominator: int = 1
    precision: Fraction | None = None
    """In steps of the value; None: any width will do."""
    budgeted: bool = False
    """Whether the coordinator finds its precision: then a source knows none until it is told a width."""
    pads: Pads = field(default_factory=Pads)
    """What late bounds are padded by, on both sides: it takes from the width that there is to give."""

    @property
    def binds(self) -> bool:
        return self.ask != "count" and (self.budgeted or self.precision is not None)

    def weight(self, name: str) -> int:
        if isinstance(name, Group):
            return int(name.query == self.name)
        return 0 if isinstance(name, GroupedObject) else self.weight_of_value(name)

    def weight_of_value(self, name: str) -> int:
        """The weight of an object, also of one whose value stands in a group."""
        return 1 if self.weights is None else self.weights.get(name, 0)

    def has(self, name: str) -> bool:
        """Whether the object is one of the query's; also one of weight 0 is, and one whose value stands in a group."""
        return not isinstance(name, Group) and (self.weights is None or name in self.weights)

    @cached_property
    def total(self) -> int:
        """The sum of the absolute weights of a query that names its objects."""
        return sum(map(abs, (self.weights or {}).values()))

    def bound(self, takes_part: int) -> int:
        """b of the row ``sum |weight| * width <= b`` with so many objects taking part, in units of a width."""
        assert self.precision is not None
        share = self.precision * UNIT * self.denominator * (takes_part if self.ask == "avg" else 1)
        return min(math.floor(share), WIDEST)

    @cached_property
    def share(self) -> int:
        """How wide each of its objects may be, whichever others take part: what a source knows without a message."""
        if self.budgeted or (self.ask == "sum" and self.weights is None):
            return 0
        if self.ask == "sum":
            return max(self.bound(1) - self.padding(self.weights or ()), 0) // self.total if self.total else UNBOUNDED
        pad = self.pads.largest if self.weights is None else max(map(self.pads.of, self.weights), default=0)
        return max(self.bound(1) - 2 * UNIT * pad, 0)

    def padding(self, names: Iterable[str]) -> int:
        """How much of the row's bound the padding of these objects takes."""
        return 2 * UNIT * sum(abs(self.weight(name)) * self.pads.of(name) for name in names)

    @cached_property
    def about(self) -> str:
        """A digest of everything but the precision."""
        weights = None if self.weights is None else sorted(self.weights.items())
        text = json.dumps([self.ask, weights, self.denominator])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def agreement(self) -> str:
        return f"{self.about} {'budget' if self.budgeted else '' if self.precision is None else self.precision}"


def terms_of(ask: Ask, dial: Fraction | None = None) -> tuple[Term, ...]:
    """The monitor's queries; with a budget, those without a precision of their own get that of the dial."""
    terms, pads = [], Latency.of(ask).pads
    for query in ask.params.queries:
        precision = None if query.precision is None else Fraction(query.precision) * ask.scale
        budgeted = ask.params.budget is not None and precision is None and query.ask != "count"
        weights, denominator = _whole_weights(query)
        if budgeted and dial is not None:
            precision, budgeted = dial, False
        terms.append(Term(query.name, query.ask, weights, denominator, precision, budgeted, pads))
    return tuple(terms)


def _whole_weights(query: Any) -> tuple[dict[str, int] | None, int]:
    if query.weights is not None:
        exact = {name: Fraction(weight) for name, weight in query.weights.items()}
        denominator = math.lcm(*(weight.denominator for weight in exact.values())) if exact else 1
        return {name: int(weight * denominator) for name, weight in exact.items()}, denominator
    return (None if query.objects is None else dict.fromkeys(query.objects, 1)), 1


def agreed(terms: Iterable[Term]) -> AgreedTexts:
    return {term.name: term.agreement for term in terms}


@dataclass(frozen=True)
class FirstWidths:
    """The width with which each object begins: sound whatever other objects take part.

    A row that names its objects keeps the share of those that nobody has seen yet free for them.
    """

    shared: int
    named: Mapping[str, int]
    of_query: Mapping[str, int]
    """A group has at least one object, so the share of one is sound."""

    @classmethod
    def of(cls, terms: Iterable[Term]) -> FirstWidths:
        binding = [term for term in terms if term.binds]
        named: dict[str, int] = {}
        for term in binding:
            for name, weight in (term.weights or {}).items():
                if weight:
                    named[name] = min(named.get(name, UNBOUNDED), term.share)
        shared = min((term.share for term in binding if term.weights is None), default=UNBOUNDED)
        return cls(shared, named, {term.name: term.share for term in binding})

    def widths(self, names: Iterable[str]) -> list[int]:
        return [self._width(name) for name in names]

    def _width(self, name: str) -> int:
        if isinstance(name, GroupedObject):
            return UNBOUNDED
        if isinstance(name, Group):
            return self.of_query.get(name.query, UNBOUNDED)
        return min(self.shared, self.named.get(name, UNBOUNDED))


def tightened(widths: Widths, names: Sequence[str], before: AgreedTexts, terms: Sequence[Term]) -> Widths:
    """The widths of a site's objects under changed queries, as both ends find them without a message.

    What was kept by the queries before is kept by the new ones: a query that is new or whose precision changed takes
    its objects back to their shares; a sum over all objects, which has none, narrows in proportion.
    """
    kept = [int(width) for width in widths]
    for term in terms:
        earlier = before.get(term.name, "")
        if not term.binds or earlier == term.agreement:
            continue
        about, _, told = earlier.partition(" ")
        old = Fraction(told) if about == term.about and told not in ("", "budget") else None
        new = term.precision if not term.budgeted else None
        looser = old is not None and new is not None and new >= old
        if looser and (term.ask != "sum" or term.weights is None):
            continue
        for at, name in enumerate(names):
            if not term.weight(name):
                continue
            if term.ask == "sum" and term.weights is None and old is not None and new is not None:
                kept[at] = math.floor(kept[at] * new / old)
            else:
                kept[at] = min(kept[at], term.share)
    return np.array(kept, np.int64).reshape(len(widths))


@dataclass(frozen=True)
class WidthConstraints:
    """``sum_i weights[j, i] * W[i] <= bounds[j]`` for every row j, and ``W[i] <= caps[i]``.

    The paper's constraint (section 4.2) for sums and means; MIN and MAX bind each of their objects alone.
    """

    weights: NDArray[np.int64]
    bounds: NDArray[np.int64]
    caps: NDArray[np.int64]
    members: int = field(default=0)
    """The most objects that take part in one row."""

    @classmethod
    def of(cls, terms: Sequence[Term], names: Sequence[str]) -> WidthConstraints:
        """For these objects, which take part. The shares of objects that a sum names and nobody has seen stay free."""
        caps = np.full(len(names), UNBOUNDED, np.int64)
        seen, rows, bounds = set(names), [], []
        for term in terms:
            if not term.binds or term.precision is None:
                continue
            row = np.array([abs(term.weight(name)) for name in names], np.int64)
            if term.ask in ("min", "max"):
                room = np.array([max(term.bound(1) - 2 * UNIT * term.pads.of(name), 0) for name in names], np.int64)
                caps = np.where(row > 0, np.minimum(caps, room), caps)
            elif row.any():
                padded = list(names)
                held = 0
                if term.ask == "sum" and term.weights is not None:
                    unseen = [name for name in term.weights if name not in seen]
                    held = sum(abs(term.weights[name]) for name in unseen) * term.share
                    padded += unseen
                rows.append(row)
                bounds.append(term.bound(sum(map(term.has, names))) - held - term.padding(padded))
        matrix = np.array(rows, np.int64).reshape(len(rows), len(names))
        members = int(np.count_nonzero(matrix, axis=1).max(initial=0))
        return cls(matrix, np.array(bounds, np.int64), caps, members)

    @cached_property
    def bound_objects(self) -> NDArray[np.bool_]:
        """Which objects stand in some row."""
        found: NDArray[np.bool_] = np.any(self.weights > 0, axis=0)
        return found

    def left(self, widths: Widths) -> NDArray[np.int64]:
        """What each row has left over; objects without a bound stand in none."""
        rest: NDArray[np.int64] = self.bounds - self.weights @ np.where(self.bound_objects, widths, 0)
        return rest
