"""Both sides of the baseline: sites tell every pair that is new to them, the coordinator keeps all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Names
from monitoring_lib.methods import InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.distinct_pairs.exact.letters import NewPairs
from monitoring_lib.protocols.distinct_pairs.exact.state import AllPairsState, PairsSiteState
from monitoring_lib.protocols.distinct_pairs.pairs import Pairs


class PairsSite(SiteRole[PairsSiteState]):
    """Tells each pair once."""

    State = PairsSiteState

    def start(self, node: str) -> PairsSiteState:
        return PairsSiteState(node)

    def observe(self, state: PairsSiteState, moment: Moment, arriving: Pairs, expiring: Pairs) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.pairs.clear()
        new = [pair for pair in arriving if pair not in state.pairs]
        if new:
            state.pairs.set_all(new, [1] * len(new))
            items, partners = zip(*new, strict=True)
            yield Post(COORDINATOR, NewPairs(Pairs(Names(items), Names(partners))), "new pairs")


class _PairsCoordinator(InnerRole[AllPairsState]):
    State = AllPairsState

    def start(self, node: str) -> AllPairsState:
        return AllPairsState()

    def receive(self, state: AllPairsState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.pairs.clear()
            state.partners.clear()
        for delivery in inbox:
            assert isinstance(delivery.letter, NewPairs)
            new = [pair for pair in delivery.letter.pairs if pair not in state.pairs]
            state.pairs.set_all(new, [1] * len(new))
            grown = sorted(Counter(item for item, _ in new).items())
            state.partners.add_all([item for item, _ in grown], [number for _, number in grown])
        return ()

    def certificate(self, state: AllPairsState, moment: Moment) -> str:
        return f"The coordinator holds every different pair by name: {len(state.pairs):,} of them."


class HeavyHittersCoordinator(_PairsCoordinator):
    """The items above the share, exactly."""

    def answers(self, state: AllPairsState, moment: Moment) -> Answers:
        pairs = len(state.pairs)
        least = Fraction(self.ask.params.share) * pairs
        heavy = [(-number, item) for item, number in state.partners.items() if number > least]
        rows = [Answer(COORDINATOR, moment.end, "", None, pairs, pairs, pairs)]
        for rank, (number, item) in enumerate(sorted(heavy), 1):
            rows.append(Answer(COORDINATOR, moment.end, item, rank, -number, -number, -number))
        return Answers.of(rows)


class QuantilesCoordinator(_PairsCoordinator):
    """The smallest number up to which at least the quantile's share of the pairs lies."""

    def answers(self, state: AllPairsState, moment: Moment) -> Answers:
        pairs, numbers = len(state.pairs), sorted((int(item), number) for item, number in state.partners.items())
        if not pairs:
            return Answers.of()
        found: dict[float, int] = {}
        waiting, passed = sorted(self.ask.params.quantiles), 0
        for value, number in numbers:
            passed += number
            while waiting and passed >= Fraction(str(waiting[0])) * pairs:
                found[waiting.pop(0)] = value
        return Answers.of(
            Answer(COORDINATOR, moment.end, f"q{each}", None, found[each], found[each], found[each])
            for each in self.ask.params.quantiles
        )
