"""What is published of a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import pyarrow as pa

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.expressions import Values, holds, parse_condition
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.duplication import intervals


def sample_rows(ask: Ask, moment: Moment, sample: Mapping[str, int], chance: float, slack: Fraction) -> Answers:
    """The rows of a sample that each item is in with this chance; its counts: ``C0 <= C <= (1 + slack) C0``."""
    if not sample:
        return Answers.of()
    asked, size, confidence = ask.params.ask, len(sample), 1.0 if chance == 1 else ask.confidence
    width, distinct = intervals.widest(ask.params.sample, ask.confidence), size / chance
    rows: list[tuple[str, float, float, float]] = []

    def count_items(key: str, sampled: int) -> None:
        estimate = sampled / chance
        bounds = intervals.number(sampled, chance, ask.confidence)
        rows.append((key, estimate, *intervals.narrowed(estimate, *bounds, width * distinct)))

    if asked.distinct:
        count_items("distinct", size)
    if asked.once:
        count_items("once", sum(count == 1 for count in sample.values()))
    ordered = sorted(sample.values())
    for quantile in asked.quantiles:
        at = intervals.rank_of(quantile, size)
        first, last = (at, at) if chance == 1 else intervals.ranks(quantile, size, ask.confidence)
        low, high = ordered[max(first, 1) - 1] if first else 1, math.inf
        if last <= size:
            high = float(math.floor((1 + slack) * ordered[last - 1]))
        rows.append((f"q{quantile}", ordered[at - 1], low, high))
    for name, satisfying in satisfied(ask, list(sample)).items():
        bounds = intervals.share(satisfying, size, chance, ask.confidence)
        rows.append((f"share:{name}", satisfying / size, *intervals.narrowed(satisfying / size, *bounds, width)))
    return Answers.of(
        Answer(COORDINATOR, moment.end, key, None, estimate, low, high, confidence) for key, estimate, low, high in rows
    )


def satisfied(ask: Ask, names: list[str]) -> dict[str, int]:
    """How many of the items satisfy each condition; unknown does not count."""
    column = {"item": Values(pa.array(names, pa.string()))}
    return {
        name: sum(found is True for found in holds(parse_condition(text), column, len(names)).to_pylist())
        for name, text in ask.params.ask.shares.items()
    }
