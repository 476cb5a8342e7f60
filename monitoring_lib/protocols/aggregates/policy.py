"""What the methods of this family differ in: how widths are chosen, and what a source measures for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from monitoring_lib.codec import Ints
from monitoring_lib.methods import Ask, Keys, Moment
from monitoring_lib.network import Letter, Post, site_of_node
from monitoring_lib.protocols.aggregates.filters import Filter
from monitoring_lib.protocols.aggregates.groups import labelled
from monitoring_lib.protocols.aggregates.latency import Latency
from monitoring_lib.protocols.aggregates.state import CoordinatorState, SiteState
from monitoring_lib.protocols.aggregates.terms import UNIT, FirstWidths, Term, WidthConstraints, Widths, terms_of


class FilterOptions(Keys):
    """What every method may be told."""

    filter: Filter | None = Field(
        default=None,
        description="runs: the fewest bounds (the default); recentre: the paper's filter, the only one with `latency`",
    )
    costs: dict[str, Decimal] = Field(
        default_factory=dict, description="what a message about an object costs; by default 1"
    )
    aggregate: bool | tuple[str, ...] = Field(
        default=False, description="sites that keep one filter a query instead of one an object; true: all sites"
    )


@dataclass(frozen=True)
class Series:
    """One epoch at a site: each object's value at each tick, the tick from which it takes part, whether it is known."""

    values: Ints
    firsts: Ints
    known: NDArray[np.bool_]


@dataclass(frozen=True)
class Standing:
    """The coordinator's objects at the end of an epoch: those that take part from the next one on."""

    names: Sequence[str]
    widths: Widths
    sent: Ints
    """Bounds sent in this period."""
    fresh: NDArray[np.bool_]
    """Which of them showed up in this epoch."""
    lost: NDArray[np.bool_]
    """Which of them live at a site that is missing."""
    changed: bool
    """Whether the queries or the budget's precision changed in this epoch."""


class Policy(ABC):
    """Chooses widths. Both ends hold one, and find the same widths where no message tells them."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.options: FilterOptions = ask.options
        self.latency = Latency.of(ask)
        self.filter: Filter = self.options.filter or ("recentre" if self.latency.lag else "runs")

    @property
    def quantum(self) -> int:
        """Widths that are not whole multiples of this would waste the rest."""
        return UNIT if self.filter == "runs" else 2 * UNIT

    @property
    def period(self) -> int:
        """Epochs after which widths are adjusted; 0 where they are not."""
        return 0

    def ends_period(self, epoch: int) -> bool:
        return self.period > 0 and (epoch + 1) % self.period == 0

    def labelled(self, names: Sequence[str], homes: Sequence[str]) -> list[str]:
        """The names as the queries read them, with the node where each lives."""
        if not self.options.aggregate:
            return list(names)
        pairs = zip(names, homes, strict=True)
        return [labelled(name, home) if self.aggregates(home) else name for name, home in pairs]

    def aggregates(self, node: str) -> bool:
        """Whether a site keeps one filter a query."""
        told = self.options.aggregate
        return told if isinstance(told, bool) else site_of_node(node) in told

    def starting(self, names: Sequence[str]) -> list[int]:
        """The widths with which objects begin."""
        return self._beginning.widths(names)

    @cached_property
    def _beginning(self) -> FirstWidths:
        return FirstWidths.of(terms_of(self.ask))

    def shrunk(self, moment: Moment, terms: Sequence[Term], names: Sequence[str], widths: Widths, sent: Ints) -> Widths:
        """What both ends make of the widths at the end of a period, without a message."""
        return widths

    def measure(self, state: SiteState, moment: Moment, series: Series) -> Iterable[Post]:
        """What a source measures beside its filter, and tells."""
        return ()

    def take(self, state: CoordinatorState, moment: Moment, names: Sequence[str], letter: Letter) -> None:
        """What the coordinator makes of it; `names` are the sender's objects by place."""
        raise TypeError(f"{letter.kind()} is none of this method's letters")

    @abstractmethod
    def targets(
        self, state: CoordinatorState, moment: Moment, standing: Standing, constraints: WidthConstraints
    ) -> Widths:
        """The widths from the next epoch on; they keep every row."""

    def costs(self, names: Sequence[str]) -> NDArray[np.float64]:
        return np.array([float(self.options.costs.get(name, 1)) for name in names])
