"""Gradient: the paper's protocol, with the paper's ways to choose how much each level of the tree may lose.

Manjhi, Shkapenyuk, Dhamdhere and Olston, "Finding (Recently) Frequent Items in Distributed Data Streams", ICDE 2005.
"""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field

from monitoring_lib.methods import Ask, Keys
from monitoring_lib.protocols.frequent_items.family import FrequentItemsMethod
from monitoring_lib.protocols.frequent_items.gradient.letters import (
    Commonality,
    LoweredCounts,
    RawCounts,
    SampleCounts,
)
from monitoring_lib.protocols.frequent_items.gradient.lowering import Algorithm
from monitoring_lib.protocols.frequent_items.gradient.node import GradientNode
from monitoring_lib.protocols.frequent_items.gradient.root import GradientRoot
from monitoring_lib.protocols.frequent_items.gradient.site import GradientSite
from monitoring_lib.protocols.frequent_items.gradient.tolerances import Strategy


class GradientOptions(Keys):
    """How what may be lost is spread over the levels."""

    strategy: Strategy = Field(
        default="min-root-load",
        description="zero: raw counts; full: all levels alike; min-root-load: only the root's children lose;"
        " worst-case: even links whatever the counts are; mixed: between full and worst-case, by measured commonality",
    )
    algorithm: Algorithm = Field(
        default="a", description="a lowers by a share of the total, b by as much as keeps lists short"
    )
    first_level: Decimal = Field(
        default=Decimal("0.9"), ge=0, le=1, description="what the root's children may lose, as a share of the error"
    )


class Gradient(FrequentItemsMethod):
    """Lowered counts upwards; downwards only, for `mixed`, the commonality once."""

    name = "gradient"
    Options = GradientOptions
    letters = (RawCounts, LoweredCounts, SampleCounts, Commonality)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site, self.inner, self.root = GradientSite(ask), GradientNode(ask), GradientRoot(ask)

    def continues(self, before: Ask) -> bool:
        """What the root loses is bounded over all epochs together only while it is lost by one rule."""
        return before.options == self.ask.options and super().continues(before)
