"""Both sides of shared bits for quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import Ask, InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.distinct_pairs.layout import LEVELS, bits_of
from monitoring_lib.protocols.distinct_pairs.pairs import Pairs
from monitoring_lib.protocols.distinct_pairs.quantile_bits.dyadic import DyadicShares
from monitoring_lib.protocols.distinct_pairs.quantile_bits.letters import NewBits
from monitoring_lib.protocols.distinct_pairs.quantile_bits.state import NumbersSiteState, NumbersState


class NumbersSite(SiteRole[NumbersSiteState]):
    """After `observe` the coordinator has been told of every bit that a pair of this site sets."""

    State = NumbersSiteState

    def __init__(self, ask: Ask, bitmaps: int) -> None:
        super().__init__(ask)
        self._bitmaps = bitmaps

    def start(self, node: str) -> NumbersSiteState:
        return NumbersSiteState(node)

    def observe(self, state: NumbersSiteState, moment: Moment, arriving: Pairs, expiring: Pairs) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.bits.clear()
        if not len(arriving):
            return
        numbers = arriving.items.column.cast(pa.int64()).to_numpy()
        bits = bits_of(arriving.items, arriving.partners, self._bitmaps, self.ask.options.seed)
        width = self._bitmaps * LEVELS
        codes = np.unique(numbers * width + bits)
        fresh = codes[state.bits.add(codes[np.newaxis])]
        if len(fresh):
            told, counts = np.unique(fresh // width, return_counts=True)
            letter = NewBits(np.diff(told, prepend=0), counts.astype(np.int64), fresh % width)
            yield Post(COORDINATOR, letter, "new bits")


class NumbersCoordinator(InnerRole[NumbersState]):
    """A share that it knows of is off by at most half the error, but for a quarter of the failure to each side.

    So the numbers whose share may be the quantile's, for all that is known, are within the error of it.
    """

    State = NumbersState

    def __init__(self, ask: Ask, bitmaps: int) -> None:
        super().__init__(ask)
        self._bitmaps = bitmaps

    def start(self, node: str) -> NumbersState:
        return NumbersState()

    def receive(self, state: NumbersState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.bits.clear()
        for delivery in inbox:
            letter = delivery.letter
            assert isinstance(letter, NewBits)
            numbers = np.repeat(np.cumsum(letter.steps), letter.counts)
            state.bits.add((numbers * (self._bitmaps * LEVELS) + letter.bits)[np.newaxis])
        return ()

    def answers(self, state: NumbersState, moment: Moment) -> Answers:
        if not state.bits.used:
            return Answers.of()
        shares = DyadicShares(state.bits.codes(), self.ask.params.bits, self._bitmaps)
        reach = float(self.ask.params.error) / 2
        return Answers.of(
            Answer(
                COORDINATOR, moment.end, f"q{quantile}", None, shares.first_above(quantile),
                shares.first_above(quantile - reach), shares.first_above(quantile + reach, strictly=True),
                self.ask.confidence,
            )
            for quantile in self.ask.params.quantiles
        )  # fmt: skip

    def certificate(self, state: NumbersState, moment: Moment) -> str:
        return (
            f"The coordinator holds {state.bits.used:,} bits. A pair sets the same bit wherever it is seen. A share of"
            f" the pairs is off by at most {float(self.ask.params.error) / 2:g} to either side at this confidence, and"
            " the bounds are the numbers whose share may be the quantile's."
        )
