"""The question: what happened in any recent range of time, over all sites?"""

from __future__ import annotations

from collections.abc import Iterable

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.epochs import format_duration, parse_duration
from monitoring_lib.methods import Ask, Question, Truth
from monitoring_lib.protocols.recent_counts.queries import MOST_ANSWERED_BITS, Query, RecentCountsParams
from monitoring_lib.summaries import Measure
from monitoring_lib.tick_counts import TickItemCounts, is_whole_number


class RecentCounts(Question):
    """With N the events of a query's range, ``end - range <= time < end``, at the end of every epoch::

        |estimate - exact| <= error * N        with confidence: points, items between two numbers
        |estimate - exact| <= error * N ** 2   with confidence: self-join
        low <= exact <= high                   as often as the row's confidence says
        count > share * N                      => the item is among the heavy hitters (always for eh and dw)
        count < (share - 2 * error) * N        => it is not, with confidence
        |rank of a quantile - q| <= error      with confidence

    An empty range gives rows of 0, and none for quantiles and heavy hitters.
    """

    name = "recent-counts"
    asks = "What happened in recent ranges of time?"
    Params = RecentCountsParams
    default_method = "merged"
    baseline = "every-update"
    shape = "rows"
    precision = "error"
    judged_by_options = True
    windows = frozenset(("sliding",))
    window_in_ticks = True

    def exact(self, ask: Ask) -> TickItemCounts:
        return TickItemCounts(ask.params.bits)

    def truth(self, ask: Ask) -> Truth:
        from monitoring_lib.protocols.recent_counts.truth import RecentTruth

        return RecentTruth(ask)

    def watched_from(self, ask: Ask, epoch: int) -> int:
        """The window of the last merge, which may lie some epochs back."""
        every: int = getattr(ask.options, "every", 1)
        return ask.window.members(max(0, epoch - every + 1)).start

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        params: RecentCountsParams = ask.params
        if ask.measure != Measure():
            yield KeyFault(("measure",), f"{ask.measure}: recent counts count events", "leave `measure` out")
        for at, query in enumerate(params.queries):
            yield from faults_of(ask, query, ("queries", at))
        names = [query.name for query in params.queries]
        for at, query in enumerate(params.queries):
            if query.name in names[:at]:
                yield KeyFault(("queries", at, "name"), f"two queries are named {query.name!r}", "rename one of them")
            for other in params.of_kind("heavy_hitters", "quantiles"):
                if query is not other and query.name.startswith(f"{other.name}:"):
                    yield KeyFault(
                        ("queries", at, "name"), f"{query.name!r} may be the key of a row of {other.name!r}",
                        "choose a name that does not begin with another query's name and a colon",
                    )  # fmt: skip

    def promise(self, ask: Ask) -> str:
        if not hasattr(ask.options, "counter"):
            return "exact (always)"
        return f"within {ask.params.error:.4g} of the events in the range (confidence {ask.confidence:g})"

    def meaning(self, ask: Ask) -> str:
        return (
            "each number differs from the exact one by at most"
            f" {ask.params.error:.4g} times the events in its range (for a self-join, times their square), with a"
            f" probability of at least {ask.confidence:g}; the exact one lies in low..high as often"
        )


def faults_of(ask: Ask, query: Query, path: tuple[str | int, ...]) -> Iterable[KeyFault]:
    """What is wrong with one query of a monitor."""
    bits, length = ask.params.bits, parse_duration(query.range)
    if length % ask.tick:
        yield KeyFault(
            (*path, "range"), f"{query.range} is not a whole number of ticks of {format_duration(ask.tick)}",
            "choose a multiple of the tick, or a shorter `tick`",
        )  # fmt: skip
    if ask.span is not None and length > ask.span * ask.tick:
        window = format_duration(ask.span * ask.tick)
        yield KeyFault((*path, "range"), f"{query.range} is longer than the window of {window}", "enlarge `window`")
    if query.is_of_numbers and bits is None:
        remedy = "say how large its items get: `bits: 16` for whole numbers below 65536"
        yield KeyFault((*path, query.kind), f"{query.kind} needs items that are whole numbers", remedy)
    if bits is None:
        return
    largest = (1 << bits) - 1
    if query.between is not None and not 0 <= query.between[0] <= query.between[1] <= largest:
        first, last = query.between
        yield KeyFault(
            (*path, "between"), f"{first} to {last} is no range within 0 to {largest}",
            "give the smaller number first, or more `bits`",
        )  # fmt: skip
    if query.quantiles is not None and bits > MOST_ANSWERED_BITS:
        yield KeyFault(
            (*path, "quantiles"), f"numbers of {bits} bits are more than an answer row holds exactly",
            f"give `bits: {MOST_ANSWERED_BITS}` at most",
        )  # fmt: skip
    if query.point is not None and not is_whole_number(query.point, bits):
        yield KeyFault(
            (*path, "point"), f"{query.point!r} is no whole number from 0 to {largest}, as items with `bits` are",
            "ask texts in a monitor without `bits`",
        )  # fmt: skip
