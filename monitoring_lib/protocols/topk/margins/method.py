"""Margins: sites keep small sums to themselves and tell large ones only as closely as the answer needs.

Beyond Babcock and Olston, "Distributed Top-K Monitoring": the coordinator holds bounds instead of installing
constraints, so that one epoch's batch of changes is judged as a whole. With both options 0 it is caching.
"""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field

from monitoring_lib.methods import Ask, Keys
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.letters import Poll, Polled, SiteSums
from monitoring_lib.protocols.topk.margins.coordinator import MarginsCoordinator
from monitoring_lib.protocols.topk.margins.letters import Enquiry, FirstValues, ItemWidths, Lower, Raise
from monitoring_lib.protocols.topk.margins.site import MarginsSite
from monitoring_lib.protocols.topk.margins.widths import one_sided


class MarginsOptions(Keys):
    """How much is left untold."""

    untracked: Decimal = Field(
        default=Decimal("0.5"), ge=0, lt=1,
        description="share of the k-th total that an item nobody has named may reach",
    )  # fmt: skip
    granted: Decimal = Field(
        default=Decimal("0.8"), ge=0, le=Decimal("0.9"),
        description="share of an item's distance from the border that its sums may drift untold",
    )  # fmt: skip


class Margins(TopKMethod):
    """Bounds at the coordinator, thresholds and widths at the sites, the same numbers at both ends."""

    name = "margins"
    Options = MarginsOptions
    letters = (SiteSums, FirstValues, Enquiry, Lower, Raise, ItemWidths, Poll, Polled)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = MarginsSite(ask)
        self.inner = MarginsCoordinator(ask)

    def continues(self, before: Ask) -> bool:
        """Sites that switch to telling every fall at once would have to look at all that they told before."""
        return super().continues(before) and one_sided(before) == one_sided(self.ask)

    def most_rounds(self, sites: int) -> int:
        return 2 * sites + 40
