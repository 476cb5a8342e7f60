"""Methods whose widths are fixed by the queries and by which objects take part."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.protocols.aggregates.family import AggregatesMethod
from monitoring_lib.protocols.aggregates.fixed.optimised import OptimisedPolicy
from monitoring_lib.protocols.aggregates.fixed.policies import NoFilterPolicy, UniformPolicy, WaterfillPolicy
from monitoring_lib.protocols.aggregates.letters import Agreed, NewBounds, NewWidths, Steps
from monitoring_lib.protocols.aggregates.policy import FilterOptions


class Waterfill(AggregatesMethod):
    """All widths rise together until rows are full; ours, and the default."""

    name = "waterfill"
    Policy = WaterfillPolicy


class Uniform(AggregatesMethod):
    """The same width for every object of a row: the paper's baseline (section 5)."""

    name = "uniform"
    Policy = UniformPolicy


class NoFilter(AggregatesMethod):
    """No width at all: every change of a value that a query needs is sent."""

    name = "none"
    Policy = NoFilterPolicy


class OptimisedOptions(FilterOptions):
    """What is known of the objects' movement."""

    steps: dict[str, Decimal] | None = Field(
        default=None, description="how far each object moves in a tick, in the measure's unit; by default measured"
    )


class Optimised(AggregatesMethod):
    """The best fixed widths for random walks whose steps are known (Appendix A of the paper)."""

    name = "optimised"
    Options = OptimisedOptions
    letters = (NewBounds, NewWidths, Agreed, Steps)
    Policy = OptimisedPolicy

    def faults(self) -> Iterable[KeyFault]:
        yield from super().faults()
        for name, step in (self.ask.options.steps or {}).items():
            if not step >= 0:
                yield KeyFault(("options", self.name, "steps", name), f"{name!r} moves by {step}", "write 0 or more")
