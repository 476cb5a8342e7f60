"""Constraints: sites watch that their part of the answer still stands, and speak only when it may not.

Babcock and Olston, "Distributed Top-K Monitoring" (SIGMOD 2003). Options that go beyond the paper say so.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from monitoring_lib.methods import Ask, Keys
from monitoring_lib.protocols.topk.constraints import letters
from monitoring_lib.protocols.topk.constraints.coordinator import ConstraintsCoordinator
from monitoring_lib.protocols.topk.constraints.site import ConstraintsSite
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.letters import Above, Best, FoundObjects, Poll, Polled, SiteSums, Tell, Told

HeldBack = Annotated[Decimal, Field(ge=0, lt=1)]


class ConstraintsOptions(Keys):
    """How slack is spread and requests are served."""

    held_back: Literal["auto"] | HeldBack = Field(
        default="auto",
        description="share of the leeway that the coordinator keeps; auto: half for small tolerances, else none",
    )
    split: Literal["auto", "even", "proportional"] = Field(
        default="auto",
        description="how sites share the rest: evenly, by update rate, or by rate for small tolerances only",
    )
    strict_validation: bool = Field(default=False, description="phase 2 as printed in the paper, without the tolerance")
    joint: bool = Field(default=False, description="requests of one round are served together (not in the paper)")
    long_list: int | None = Field(
        default=50, ge=0,
        description="a site with more outsiders to report has them found by a query (not in the paper)",
    )  # fmt: skip
    relief: int | None = Field(
        default=None, ge=0,
        description="a site with more outsiders above its lowest member hands the fall on (Appendix C: 20)",
    )  # fmt: skip


class Constraints(TopKMethod):
    """Arithmetic constraints at the sites, adjustment factors from the coordinator."""

    name = "constraints"
    Options = ConstraintsOptions
    letters = (
        letters.Request, letters.LongList, Tell, Told, Best, Above,
        FoundObjects, letters.Factors, letters.ItemNames, Poll, Polled, SiteSums,
        letters.Relief, letters.WouldFail, letters.Failing, letters.Lowered,
    )  # fmt: skip

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = ConstraintsSite(ask)
        self.inner = ConstraintsCoordinator(ask)

    def most_rounds(self, sites: int) -> int:
        """Each site may hand on one fall and make one request that is served without the others; then one with all."""
        return 8 * sites + 60
