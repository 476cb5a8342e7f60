"""The question: sums, means and extremes of values that live at sites, at every tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.epochs import parse_duration
from monitoring_lib.key_texts import ExpressionText, NameText
from monitoring_lib.methods import Ask, Keys, Question, Truth
from monitoring_lib.protocols.aggregates import latency
from monitoring_lib.protocols.aggregates.readings import ObjectReadings
from monitoring_lib.protocols.aggregates.truth import AggregatesTruth
from monitoring_lib.summaries import Measure


def _measure(text: str) -> str:
    return str(Measure.parse(text))


def _duration(text: str) -> str:
    parse_duration(text)
    return text


Rate = Annotated[Decimal, Field(ge=0)]


def _fits(weights: Mapping[str, Decimal]) -> bool:
    """Whether whole numbers in proportion to the weights leave room for values."""
    exact = [Fraction(weight) for weight in weights.values()]
    common = math.lcm(*(weight.denominator for weight in exact))
    return common < 1 << 53 and sum((abs(weight) for weight in exact), Fraction(0)) * common < 1 << 53


class Query(Keys):
    """One number that is asked for."""

    name: NameText = Field(min_length=1, description="the key of its rows")
    ask: Literal["sum", "avg", "min", "max", "count"]
    objects: tuple[NameText, ...] | None = Field(default=None, description="which objects; by default all")
    weights: dict[NameText, Decimal] | None = Field(
        default=None, description="of a sum: its objects, each with its weight"
    )
    precision: Decimal | None = Field(
        default=None, ge=0, description="how far apart low and high may be, in the measure's unit; none: any distance"
    )


class AggregatesParams(Keys):
    """What a monitor of this question may say."""

    object: ExpressionText = Field(default="site", description="what names the objects; each lives at one site")
    value: Annotated[str, AfterValidator(_measure)] = Field(
        default="count",
        description="last mean sum min max count of a value over an object's readings in a tick; count: of events",
    )
    queries: tuple[Query, ...]
    publish: Literal["epoch", "tick"] = Field(default="epoch", description="rows for the epoch's last tick, or for all")
    budget: int | None = Field(default=None, gt=0, description="entries an epoch, instead of a precision")
    latency: Annotated[str, AfterValidator(_duration)] | None = Field(
        default=None, description="how late a bound may arrive; rows then lie that far behind, unless `change` is known"
    )
    change: Rate | dict[str, Rate] | None = Field(
        default=None,
        description="the most that a value changes in a tick, of all objects or by object: pads late bounds",
    )


class Aggregates(Question):
    """``low <= exact <= high`` and ``high - low <= precision`` for every query at every published tick, always.

    An object takes part from its first reading on. A tick without a reading holds the last value (last, mean, min,
    max) or is 0 (sum, count). The objects of a site that leaves the roster take part for one epoch more.
    """

    name = "aggregates"
    asks = "What do the values at the sites come to at every tick?"
    Params = AggregatesParams
    default_method = "waterfill"
    baseline = "uniform"
    shape = "series"
    precision = "queries.precision"
    windows = frozenset(("growing",))

    def keys(self, params: AggregatesParams) -> Mapping[str, str]:
        return {"object": params.object}

    def measure(self, params: AggregatesParams) -> Measure:
        return Measure.parse(params.value)

    def exact(self, ask: Ask) -> ObjectReadings:
        return ObjectReadings(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return AggregatesTruth(ask)

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if not ask.params.queries:
            yield KeyFault(("queries",), "asks nothing", "write at least one query, such as {name: mean, ask: avg}")
        names: set[str] = set()
        for at, query in enumerate(ask.params.queries):
            path: tuple[str | int, ...] = ("queries", at)
            if query.name in names:
                yield KeyFault((*path, "name"), f"two queries are called {query.name!r}", "give each a name of its own")
            names.add(query.name)
            if query.weights is not None and query.ask != "sum":
                yield KeyFault((*path, "weights"), f"{query.ask} has no weights", "write `objects`, or `ask: sum`")
            if not _fits(query.weights or {}):
                yield KeyFault((*path, "weights"), "have too many digits for exact sums of 64 bits", "write fewer")
            if query.weights is not None and query.objects is not None:
                yield KeyFault((*path, "objects"), "weights name the objects already", "drop `objects`")
            if query.objects is not None and len(set(query.objects)) < len(query.objects):
                yield KeyFault((*path, "objects"), "names an object twice", "keep one of them, or write `weights`")
            if query.precision is not None and ask.params.budget is not None:
                yield KeyFault((*path, "precision"), "the budget finds the precision", "drop `precision`, or `budget`")
        yield from latency.faults(ask)

    def promise(self, ask: Ask) -> str:
        if ask.params.budget is not None:
            return f"as precise as {ask.params.budget} entries an epoch allow (always inside the bounds)"
        told = {query.precision for query in ask.params.queries if query.precision is not None}
        if len(told) == 1:
            return f"within {told.pop().normalize():f} (always)"
        return "within each query's precision (always)" if told else "inside the bounds (always)"

    def meaning(self, ask: Ask) -> str:
        when = "every tick" if ask.params.publish == "tick" else "the epoch's last tick"
        if latency.Latency.of(ask).delayed:
            when += f", {ask.params.latency} later,"
        width = "" if ask.params.budget is not None else ", and these lie no further apart than the query's precision"
        return f"at {when} the exact value of each query lies between low and high{width}"
