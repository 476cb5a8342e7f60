"""The protocols again, in fractions and plain dicts, one item at a time: slow, exact, and of other code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.frequent_items.gradient.tolerances import ToleranceGradient
from monitoring_lib.topology import Tree

Numbers = dict[str, Fraction]


@dataclass
class Lists:
    """What crossed each link in an epoch, by the lower node."""

    entries: dict[str, int] = field(default_factory=dict)


def _added(parts: list[Numbers]) -> Numbers:
    sums: Numbers = {}
    for part in parts:
        for item, count in part.items():
            sums[item] = sums.get(item, Fraction(0)) + count
    return sums


def _cut(counts: Numbers, by: Fraction) -> Numbers:
    return {item: count - by for item, count in counts.items() if count > by}


def _lowered(algorithm: str, counts: Numbers, share: Fraction, total: Fraction) -> Numbers:
    if algorithm == "a":
        return _cut(counts, share * total)
    if not share:
        return counts
    most = math.ceil(1 / share) - 1
    return _cut(counts, sorted(counts.values(), reverse=True)[most]) if len(counts) > most else counts


@dataclass
class GradientReference:
    """Algorithms 1a and 2a, or 1b and 2b, over one tree with a given gradient."""

    tree: Tree
    gradient: ToleranceGradient
    algorithm: str
    decay: Fraction
    kept: Numbers = field(default_factory=dict)
    total: Fraction = Fraction(0)

    def epoch(self, leaves: Mapping[str, Mapping[str, int]]) -> Lists:
        lists = Lists()

        def below(node: str, level: int) -> tuple[Numbers, Fraction]:
            if node in leaves or not self.tree.children(node):
                counts = {item: Fraction(count) for item, count in leaves.get(node, {}).items()}
                total = sum(counts.values(), Fraction(0))
                sent = _cut(counts, self.gradient.at(level) * total)
            else:
                parts = [below(child, level + 1) for child in self.tree.children(node)]
                total = sum((part[1] for part in parts), Fraction(0))
                sent = _lowered(self.algorithm, _added([part[0] for part in parts]), self.gradient.step(level), total)
            lists.entries[node] = len(sent)
            return sent, total

        parts = [below(child, 1) for child in self.tree.children(COORDINATOR)]
        of_epoch = sum((part[1] for part in parts), Fraction(0))
        self.total = self.decay * self.total + of_epoch
        old = {item: self.decay * count for item, count in self.kept.items() if self.decay}
        counts = _added([old, *(part[0] for part in parts)])
        self.kept = _lowered(self.algorithm, counts, self.gradient.step(0), of_epoch)
        return lists


@dataclass
class BoundsReference:
    """Lists with what listed items lack and unlisted ones have."""

    tree: Tree
    error: Fraction
    upper: bool
    decay: Fraction
    low: Numbers = field(default_factory=dict)
    lacking: Numbers = field(default_factory=dict)
    unlisted: Fraction = Fraction(0)
    total: Fraction = Fraction(0)

    def epoch(self, leaves: Mapping[str, Mapping[str, int]]) -> Lists:
        lists = Lists()

        def send(
            node: str, total: Fraction, low: Numbers, lacking: Callable[[str], Fraction], unlisted: Fraction
        ) -> tuple[Fraction, Numbers, Fraction, Fraction]:
            kept = [item for item in low if low[item] + lacking(item) > self.error * total]
            lists.entries[node] = len(kept)
            left_out = [low[item] + lacking(item) for item in low if item not in kept]
            most = max((lacking(item) for item in kept), default=Fraction(0))
            # an upper bound is taken in as what lies `most` below it
            sent = {item: low[item] + (lacking(item) - most if self.upper else 0) for item in kept}
            return total, sent, most, max([unlisted, *left_out])

        def below(node: str) -> tuple[Fraction, Numbers, Fraction, Fraction]:
            if node in leaves or not self.tree.children(node):
                counts = {item: Fraction(count) for item, count in leaves.get(node, {}).items()}
                return send(node, sum(counts.values(), Fraction(0)), counts, lambda item: Fraction(0), Fraction(0))
            return send(node, *self._merged([below(child) for child in self.tree.children(node)]))

        total, low, lacking, unlisted = self._merged([below(child) for child in self.tree.children(COORDINATOR)])
        self.total = self.decay * self.total + total
        for item in {*self.low, *low}:
            before = self.decay * (self.lacking[item] if item in self.low else self.unlisted)
            self.lacking[item] = before + lacking(item)
            self.low[item] = self.decay * self.low.get(item, Fraction(0)) + low.get(item, Fraction(0))
        self.unlisted = self.decay * self.unlisted + unlisted
        for item in [item for item in self.low if self.low[item] + self.lacking[item] <= self.error * self.total]:
            self.unlisted = max(self.unlisted, self.low.pop(item) + self.lacking.pop(item))
        return lists

    @staticmethod
    def _merged(
        parts: list[tuple[Fraction, Numbers, Fraction, Fraction]],
    ) -> tuple[Fraction, Numbers, Callable[[str], Fraction], Fraction]:
        def lacking(item: str) -> Fraction:
            return sum((listed if item in low else rest for _, low, listed, rest in parts), Fraction(0))

        total = sum((part[0] for part in parts), Fraction(0))
        return total, _added([part[1] for part in parts]), lacking, sum((part[3] for part in parts), Fraction(0))
