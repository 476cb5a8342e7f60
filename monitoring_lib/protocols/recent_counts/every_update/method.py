"""Every update: exact, and as dear as shipping all counts."""

from __future__ import annotations

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.recent_counts.every_update.roles import HoldingCoordinator, TellingSite, Updates
from monitoring_lib.protocols.recent_counts.question import RecentCounts


class EveryUpdate(Method):
    """What `merged` is compared with."""

    name = "every-update"
    question = RecentCounts()
    letters = (Updates,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site, self.inner = TellingSite(ask), HoldingCoordinator(ask)

    def continues(self, before: Ask) -> bool:
        """Other queries and another error change nothing of what is kept."""
        mine, its = self.ask, before
        return (its.epoch, its.tick, its.window, its.span, its.params.bits) == (
            mine.epoch, mine.tick, mine.window, mine.span, mine.params.bits,
        )  # fmt: skip
