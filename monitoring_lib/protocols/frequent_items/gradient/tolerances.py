"""Gradient: which share of the counts each level of the tree may lose in all, from the sites up to it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from monitoring_lib.methods import Ask
from monitoring_lib.network import COORDINATOR
from monitoring_lib.topology import Tree

Strategy = Literal["zero", "full", "min-root-load", "worst-case", "mixed"]


@dataclass(frozen=True)
class ToleranceGradient:
    """Tolerances by level: that of the root, then those of its children, down to the deepest level.

    ``error >= at(1) >= at(2) >= ... >= 0``. Below the levels that it was made for it is that of the deepest one.
    """

    shares: tuple[Fraction, ...]

    def at(self, level: int) -> Fraction:
        return self.shares[min(level, len(self.shares) - 1)]

    def step(self, level: int) -> Fraction:
        """What a node of this level may lose itself, on top of what is lost below it."""
        return self.at(level) - self.at(level + 1)


def gradient(
    strategy: Strategy, error: Fraction, first: Fraction, depth: int, fanout: int, commonality: Fraction = Fraction(0)
) -> ToleranceGradient:
    """The paper's strategies over `depth` levels below the root, whose first has the tolerance `first`.

    `worst-case` (MinMaxLoad_WC, section 4.3.2) is ``first * ((depth - i)(d - 1) + d) / ((depth - 1)(d - 1) + d)`` at
    level i, with d the fanout. `mixed` (MinMaxLoad_NWC, section 4.3.3) is `commonality` times `full` and the rest times
    `worst-case`. The paper prints ``commonality * error`` there, which would exceed `first` where much is
    common; here it is ``commonality * first``.
    """
    whole = (depth - 1) * (fanout - 1) + fanout
    shares = [error]
    for level in range(1, depth + 1):
        worst_case = first * ((depth - level) * (fanout - 1) + fanout) / whole
        shares.append(
            {
                "zero": Fraction(0),
                "full": first,
                "min-root-load": first if level == 1 else Fraction(0),
                "worst-case": worst_case,
                "mixed": commonality * first + (1 - commonality) * worst_case,
            }[strategy]
        )
    return ToleranceGradient(tuple(shares))


def heaviest_worst_case(first: Fraction, depth: int, fanout: int) -> Fraction:
    """Counts on the heaviest link under `worst-case`, whatever the counts are (section 4.3.2)."""
    return ((depth - 1) * (fanout - 1) + fanout) / (fanout * first)


class Gradients:
    """The gradient of a monitor over a tree, worked out once for each tree and commonality."""

    def __init__(self, ask: Ask) -> None:
        self._strategy: Strategy = ask.options.strategy
        self._error = Fraction(ask.params.error)
        self._first = Fraction(Decimal(ask.options.first_level) * ask.params.error)
        self._tree: Tree | None = None
        self._made: dict[float | None, ToleranceGradient] = {}
        self._levels: dict[str, int] = {}

    @property
    def is_measured(self) -> bool:
        """Whether it depends on a commonality, which the nodes must be told."""
        return self._strategy == "mixed"

    def over(self, tree: Tree, commonality: float | None) -> ToleranceGradient:
        """A node of a measured strategy that does not know the commonality loses nothing."""
        self._enter(tree)
        if commonality not in self._made:
            depth = tree.depth
            fanout = max(1, *(len(tree.children(node)) for node in tree.inner))  # nobody is below the root at first
            unknown = self.is_measured and commonality is None
            strategy: Strategy = "zero" if unknown else self._strategy
            self._made[commonality] = gradient(
                strategy, self._error, self._first, depth, fanout, Fraction(commonality or 0)
            )
        return self._made[commonality]

    def level(self, tree: Tree, node: str) -> int:
        """Steps from the root."""
        self._enter(tree)
        if node not in self._levels:
            above = tree.parents.get(node, COORDINATOR)
            self._levels[node] = 0 if node == COORDINATOR else self.level(tree, above) + 1
        return self._levels[node]

    def _enter(self, tree: Tree) -> None:
        if self._tree is not tree:
            self._tree, self._made, self._levels = tree, {}, {}
