"""What the questions of this family have in common: they count the events of a sliding window, tick by tick."""

from __future__ import annotations

from collections.abc import Iterable

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Question
from monitoring_lib.summaries import Measure
from monitoring_lib.tick_counts import TickItemCounts


class WindowQuestion(Question):
    """A function of the sum of the sites' arrays, each over the same window."""

    baseline = "every-update"
    judged_by_options = True
    windows = frozenset(("sliding",))
    window_in_ticks = True

    def exact(self, ask: Ask) -> TickItemCounts:
        return TickItemCounts()

    def watched_from(self, ask: Ask, epoch: int) -> int:
        """How the counters of a sketch round depends on all events that they were ever fed."""
        return super().watched_from(ask, epoch) if ask.params.error == 0 else 0

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.measure != Measure():
            yield KeyFault(("measure",), f"{ask.measure} has no place here: events are counted", "leave `measure` out")
