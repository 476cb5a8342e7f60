"""The question: how large is the self-join (second moment) of a recent window, within a factor, all the time?"""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Truth
from monitoring_lib.protocols.geometric.question import WindowQuestion
from monitoring_lib.protocols.geometric.self_join.truth import SelfJoinTruth
from monitoring_lib.protocols.geometric.sizes import Sizes


class SelfJoinParams(Keys):
    """What a monitor of this question may say."""

    tolerance: float = Field(
        ge=1e-6, lt=1, description="how far the estimate may lie from the arrays' self-join, relative"
    )
    error: float = Field(default=0.0, ge=0, lt=1, description="of the sites' sketches; 0: one exact counter an item")


class SelfJoinSize(WindowQuestion):
    """``(1 - tolerance) f <= estimate <= (1 + tolerance) f`` at the end of every epoch, always.

    f is the self-join of the sum of the sites' arrays: of a sketch the smallest sum of squares of a row; with
    `error` 0 the true self-join size F2, the sum over all items of their squared counts in the window. With a
    sketch whose counters have the relative error c and a window of N events::

        estimate >= (1 - tolerance) (1 - c)^2 F2                  always
        estimate <= (1 + tolerance) (F2 + error N^2)              with probability confidence

    While sites are missing the answer is partial and counts the events of the present sites alone.
    """

    name = "self-join-size"
    asks = "How skewed are the items over all sites?"
    Params = SelfJoinParams
    default_method = "convex"
    shape = "number"
    precision = "tolerance"

    def truth(self, ask: Ask) -> Truth:
        return SelfJoinTruth(ask, sizes_of(ask))

    def promise(self, ask: Ask) -> str:
        return f"within {100 * ask.params.tolerance:g} % of the {_joined(ask)} (always)"

    def meaning(self, ask: Ask) -> str:
        exact = "the sum of the squared counts of all items in the window"
        if ask.params.error == 0:
            return f"the estimate lies within {100 * ask.params.tolerance:g} % of {exact}, at every epoch's end"
        return (
            f"the estimate lies within {100 * ask.params.tolerance:g} % of what the sites' sketches come to, which is"
            f" {exact}, at most {ask.params.error:g} N^2 more with probability {ask.confidence:g}"
        )


def _joined(ask: Ask) -> str:
    return "self-join size" if ask.params.error == 0 else "sketches' self-join size"


def sizes_of(ask: Ask) -> Sizes:
    return Sizes.of(ask, "inner-product")
