"""Both sides of the baseline: sites tell all counts of the epoch, the coordinator adds them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.duplication.exact.letters import AllCounts
from monitoring_lib.protocols.duplication.exact.state import AllCountsState, TellingState
from monitoring_lib.protocols.duplication.rows import satisfied
from monitoring_lib.synopses.counts import Counts


class TellingSite(SiteRole[TellingState]):
    """Tells everything, once an epoch."""

    State = TellingState

    def start(self, node: str) -> TellingState:
        return TellingState(node)

    def observe(self, state: TellingState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if len(arriving):
            yield Post(COORDINATOR, AllCounts(arriving), "all counts")


class AllCountsCoordinator(InnerRole[AllCountsState]):
    """Knows every count; its answers are exact."""

    State = AllCountsState

    def start(self, node: str) -> AllCountsState:
        return AllCountsState()

    def receive(self, state: AllCountsState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.items_with, state.satisfying = moment.period, {}, {}
            state.counts.clear()
        asked = self.ask.params.ask.shares
        if state.conditions != asked:
            state.conditions = dict(asked)
            state.satisfying = satisfied(self.ask, sorted(state.counts))
        for delivery in inbox:
            assert isinstance(delivery.letter, AllCounts)
            self._add(state, delivery.letter.counts)
        return ()

    def _add(self, state: AllCountsState, counts: Counts) -> None:
        names = counts.names.tolist()
        before = state.counts.get_all(names)
        state.counts.add_all(counts.names, counts.sums)
        changes = Counter(now + then for now, then in zip(counts.sums.tolist(), before, strict=True))
        changes.subtract(then for then in before if then)
        for count in sorted(changes):
            state.items_with[count] = state.items_with.get(count, 0) + changes[count]
        state.items_with = {count: items for count, items in sorted(state.items_with.items()) if items}
        new = [name for name, then in zip(names, before, strict=True) if not then]
        for share, number in satisfied(self.ask, new).items():
            state.satisfying[share] = state.satisfying.get(share, 0) + number

    def answers(self, state: AllCountsState, moment: Moment) -> Answers:
        asked, different = self.ask.params.ask, sum(state.items_with.values())
        if not different:
            return Answers.of()
        rows: list[tuple[str, float]] = []
        if asked.distinct:
            rows.append(("distinct", different))
        if asked.once:
            rows.append(("once", state.items_with.get(1, 0)))
        up_to = list(zip(accumulate(state.items_with.values()), state.items_with, strict=True))
        for quantile in asked.quantiles:
            wanted = Fraction(str(quantile)) * different
            rows.append((f"q{quantile}", next(count for items, count in up_to if items >= wanted)))
        rows += [(f"share:{name}", state.satisfying.get(name, 0) / different) for name in asked.shares]
        return Answers.of(Answer(COORDINATOR, moment.end, key, None, value, value, value) for key, value in rows)

    def certificate(self, state: AllCountsState, moment: Moment) -> str:
        return f"The coordinator holds the count of every different item: {len(state.counts):,} of them."
