"""Methods that adjust widths period by period."""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.protocols.aggregates.family import AggregatesMethod
from monitoring_lib.protocols.aggregates.policy import FilterOptions
from monitoring_lib.protocols.aggregates.shrinking.policies import QuietPolicy, TextPolicy


class TextOptions(FilterOptions):
    """The seed orders objects whose burdens deviate alike."""

    seed: int = Field(default=0, description="of the order in which objects with equal needs are served")


class TextMethod(AggregatesMethod):
    """Olston, Jiang and Widom's own protocol (section 4): every width shrinks, the neediest objects grow."""

    name = "text"
    Options = TextOptions
    Policy = TextPolicy


class Quiet(AggregatesMethod):
    """Ours: only widths of objects that were silent shrink, only those of objects that spoke grow."""

    name = "quiet"
    Policy = QuietPolicy
