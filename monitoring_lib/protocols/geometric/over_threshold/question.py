"""The question: which items are over a threshold in a recent window, now?"""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Truth
from monitoring_lib.protocols.geometric.over_threshold.truth import OverThresholdTruth
from monitoring_lib.protocols.geometric.question import WindowQuestion
from monitoring_lib.protocols.geometric.sizes import Sizes


class OverThresholdParams(Keys):
    """What a monitor of this question may say."""

    threshold: float = Field(gt=0, description="events of one item in the window, over all sites")
    slack: float = Field(
        default=0.1, ge=1e-6, lt=1, description="share of the threshold by which an item may be off, either way"
    )
    error: float = Field(default=0.0, ge=0, lt=1, description="of the sites' sketches; 0: one exact counter an item")


class OverThreshold(WindowQuestion):
    """At the end of every epoch an item at ``threshold (1 + slack)`` or above is listed, one below
    ``threshold (1 - slack)`` is not.

    With `error` 0 both hold always, for the items' exact counts in the window. With a sketch they hold always for what
    is counted, the smallest sum over the sites of an item's counters. From that follows, with counters of the
    relative error e and a window of N events::

        (1 - e) count >= threshold (1 + slack)              it is listed, always
        count + e N < threshold (1 - slack)                 it is not, with probability confidence

    While sites are missing the answer is partial and counts the events of the present sites alone.
    """

    name = "over-threshold"
    asks = "Which items are over the threshold now?"
    Params = OverThresholdParams
    default_method = "local-tests"
    shape = "rows"
    precision = "slack"

    def truth(self, ask: Ask) -> Truth:
        return OverThresholdTruth(ask, sizes_of(ask))

    def promise(self, ask: Ask) -> str:
        params = ask.params
        return f"over {params.threshold:g}, within {100 * params.slack:g} % of it (always)"

    def meaning(self, ask: Ask) -> str:
        params = ask.params
        high, low = params.threshold * (1 + params.slack), params.threshold * (1 - params.slack)
        counted = "events" if params.error == 0 else "events as the sites' sketches count them"
        return f"every item with {high:g} {counted} or more in the window is listed, none with fewer than {low:g}"


def sizes_of(ask: Ask) -> Sizes:
    return Sizes.of(ask, "point")
