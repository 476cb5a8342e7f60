"""The rows that the coordinator publishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.aggregates.evaluation import Intervals
from monitoring_lib.protocols.aggregates.terms import Term


def published(
    ask: Ask, terms: Sequence[Term], moment: Moment, found: Intervals, partial: Sequence[bool], delayed: int
) -> Answers:
    """One row for each published tick and query whose objects take part, tick after tick; `delayed` by some ticks."""
    estimates, lows, highs = found.in_units(terms, ask.scale)
    slots, queries = found.takes_part.shape
    ends = moment.end - ask.tick * (np.arange(slots - 1, -1, -1, dtype=np.int64) + delayed)
    names, unsure = pa.array([term.name for term in terms]), np.array(partial, bool)
    columns: dict[str, Any] = {
        "tick": np.repeat(ends, queries),
        "key": pa.chunked_array([names] * slots).combine_chunks(),
        "estimate": estimates.ravel(),
        "low": lows.ravel(),
        "high": highs.ravel(),
        "partial": bool(unsure[0]) if (unsure == unsure[0]).all() else np.tile(unsure, slots),
    }
    answers = Answers.columns(slots * queries, {"node": COORDINATOR, "rank": None, "confidence": 1.0, **columns})
    there = found.takes_part.ravel() > 0
    return answers if there.all() else Answers(answers.table.filter(pa.array(there)))
