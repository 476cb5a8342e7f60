"""What the methods of this family have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import Letter
from monitoring_lib.protocols.aggregates.coordinator import AggregatesCoordinator
from monitoring_lib.protocols.aggregates.letters import Agreed, NewBounds, NewWidths
from monitoring_lib.protocols.aggregates.policy import FilterOptions, Policy
from monitoring_lib.protocols.aggregates.question import Aggregates
from monitoring_lib.protocols.aggregates.site import AggregatesSite


class AggregatesMethod(Method):
    """A method goes on when queries, their precisions or the budget change, but not when objects or values do.

    With `latency` it begins anew.
    """

    question = Aggregates()
    Options = FilterOptions
    letters: ClassVar[tuple[type[Letter], ...]] = (NewBounds, NewWidths, Agreed)
    needs_expiring = False
    Policy: ClassVar[type[Policy]]

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        policy = self.Policy(ask)
        self.site = AggregatesSite(ask, policy)
        self.inner = AggregatesCoordinator(ask, policy)

    def faults(self) -> Iterable[KeyFault]:
        if self.ask.params.latency is not None and self.ask.options.filter == "runs":
            path = ("options", self.name, "filter")
            yield KeyFault(
                path, "runs are cut when an epoch has ended, too late for `latency`", "write recentre, or drop it"
            )
        if self.ask.options.aggregate and self.ask.params.change is not None:
            path = ("options", self.name, "aggregate")
            yield KeyFault(path, "of a sum at a site no rate of change is known", "drop it, or `change`")
        for name, cost in self.ask.options.costs.items():
            if not cost > 0:
                yield KeyFault(
                    ("options", self.name, "costs", name),
                    f"a message about {name!r} costs {cost}",
                    "write a cost above 0",
                )

    def continues(self, before: Ask) -> bool:
        now = self.ask
        late = (before.params.latency, before.params.change), (now.params.latency, now.params.change)
        if late[0] != late[1] or (now.params.latency is not None and before.params != now.params):
            return False  # rows of the epoch before are still owed, under the queries of then
        return (
            before.params.object == now.params.object
            and before.options == now.options
            and (before.measure, before.scale, before.epoch, before.tick, before.window)
            == (now.measure, now.scale, now.epoch, now.tick, now.window)
        )
