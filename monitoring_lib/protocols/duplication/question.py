"""The question: how often do items occur over all sites?"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from pydantic import Field, field_validator

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.expressions import faults_of, parse_condition
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Keys, Question, Truth
from monitoring_lib.protocols.duplication.intervals import widest
from monitoring_lib.protocols.duplication.truth import DuplicationTruth
from monitoring_lib.shares import Share, once_each
from monitoring_lib.summaries import Measure
from monitoring_lib.synopses.distinct_sample import LEAST_CAPACITY


class Asked(Keys):
    """Which rows the answer has."""

    distinct: bool = Field(default=False, description="the number of different items")
    once: bool = Field(default=False, description="the number of items that occurred exactly once")
    quantiles: tuple[Share, ...] = Field(
        default=(), description="quantiles of the number of occurrences over the different items, such as 0.5"
    )
    shares: dict[str, str] = Field(
        default_factory=dict, description="by name, a condition over `item`: the share of the different items it holds"
    )

    @field_validator("shares")
    @classmethod
    def _conditions(cls, shares: dict[str, str]) -> dict[str, str]:
        for name, text in shares.items():
            for problem, remedy in faults_of(parse_condition(text), {"item": "text"}, condition=True):
                raise ValueError(f"{name}: {problem}; {remedy}")
        return shares

    _once_each = field_validator("quantiles")(once_each)


class DuplicationParams(Keys):
    """What a monitor of this question may say."""

    sample: int = Field(
        default=1000, ge=LEAST_CAPACITY, lt=1 << 31, description="the most items that the coordinator keeps"
    )
    lag: Decimal = Field(
        default=Decimal("0.1"), ge=0, lt=1, max_digits=25, description="how far counts in the sample may fall behind"
    )
    ask: Asked = Field(default=Asked(distinct=True, once=True), description="which rows the answer has")


def lag_of(ask: Ask) -> Fraction:
    return Fraction(ask.params.lag)


class Duplication(Question):
    """For a sample of T items, N different items in all, and over the seeds of the hash, row by row::

        Pr[ low <= exact <= high ] >= confidence,    high - low <= 6 / sqrt(T), of N for numbers, of rank for quantiles
        C / (1 + lag) <= count in the sample <= C,   always

    While all items fit into the sample (N <= T), rows have confidence 1: `distinct`, `once` and shares are exact,
    quantiles are so up to the lag. Above a confidence of 0.996 bounds may be wider, as the normal law asks for.
    """

    name = "duplication"
    asks = "How often do items occur over all sites?"
    Params = DuplicationParams
    default_method = "local-counts"
    baseline = "exact"
    shape = "rows"
    precision = "lag"
    windows = frozenset(("growing", "reset"))

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.measure != Measure():
            yield KeyFault(("measure",), "occurrences are counted, whatever values they have", "leave it out")
        asked = ask.params.ask
        if not (asked.distinct or asked.once or asked.quantiles or asked.shares):
            yield KeyFault(("ask",), "asks for nothing", "write `ask: {distinct: true, once: true, quantiles: [0.5]}`")

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(Measure())

    def truth(self, ask: Ask) -> Truth:
        return DuplicationTruth(ask)

    def promise(self, ask: Ask) -> str:
        width = widest(ask.params.sample, ask.confidence)
        return f"bounds of {width:.2g} at {ask.confidence:g}, counts within {float(_off(ask)):.2g} (always)"

    def meaning(self, ask: Ask) -> str:
        return (
            f"each row's exact value lies in low..high in {ask.confidence:.0%} of all runs, and always while no more"
            f" than {ask.params.sample} different items were seen; counts in the sample are never too large, and too"
            f" small by at most {float(_off(ask)):.2%} of themselves"
        )


def _off(ask: Ask) -> Fraction:
    return lag_of(ask) / (1 + lag_of(ask))
