"""From what a node knows of the recent past to the rows that it publishes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import Ask
from monitoring_lib.protocols.recent_counts.queries import Query


class BoundedEstimate(NamedTuple):
    """An estimate, and what the exact number lies between as often as `confidence` says."""

    estimate: float
    low: float
    high: float
    confidence: float = 1.0


class Recent(ABC):
    """What can be asked about the events of the last `span` ticks."""

    @abstractmethod
    def events(self, span: int) -> BoundedEstimate: ...

    @abstractmethod
    def point(self, item: str, span: int) -> BoundedEstimate: ...

    @abstractmethod
    def self_join(self, span: int) -> BoundedEstimate: ...

    @abstractmethod
    def between(self, first: int, last: int, span: int) -> BoundedEstimate: ...

    @abstractmethod
    def quantile(self, share: float, span: int) -> BoundedEstimate | None:
        """None where nothing happened."""

    @abstractmethod
    def heavy_hitters(self, share: float, span: int) -> dict[str, BoundedEstimate]:
        """Every item above this share that can be, and perhaps some a little below."""

    def cannot(self, query: Query, span: int) -> str | None:
        """Why a query that the monitor's file does not have cannot be answered, if so."""
        return None

    def lacks(self, span: int) -> bool:
        """Whether events of the range are known to be missing, so that only lower bounds hold."""
        return False

    def lacks_names(self, span: int) -> bool:
        """Whether an item may be a heavy hitter whose name is not known."""
        return False


def answers_of(ask: Ask, recent: Recent, node: str, tick: int, partial: bool) -> Answers:
    """The rows of all queries."""
    rows: list[Answer] = []
    for query in ask.params.queries:
        rows += rows_of(ask, recent, query, node, tick, partial)
    return Answers.of(rows)


def rows_of(ask: Ask, recent: Recent, query: Query, node: str, tick: int, partial: bool) -> Iterator[Answer]:
    """The rows of one query."""
    span = query.ticks(ask)
    lacks = recent.lacks(span)
    unsure = lacks or (query.kind == "heavy_hitters" and recent.lacks_names(span))
    for key, rank, found in _found(query, recent, span):
        low, high = found.low, found.high
        if lacks:
            low, high = (low, math.inf) if query.kind != "quantiles" else (0, (1 << ask.params.bits) - 1)
        yield Answer(node, tick, key, rank, found.estimate, low, high, found.confidence, partial or unsure)


def _found(query: Query, recent: Recent, span: int) -> Iterator[tuple[str, int | None, BoundedEstimate]]:
    """Key, rank and finding of each row of a query."""
    if query.point is not None:
        yield query.name, None, recent.point(query.point, span)
    elif query.self_join is not None:
        yield query.name, None, recent.self_join(span)
    elif query.between is not None:
        yield query.name, None, recent.between(*query.between, span)
    elif query.quantiles is not None:
        for share in query.quantiles:
            found = recent.quantile(share, span)
            if found is not None:
                yield f"{query.name}:{share}", None, found
    elif query.heavy_hitters is not None:
        items = recent.heavy_hitters(query.heavy_hitters, span)
        ranked = sorted(items.items(), key=lambda pair: (-pair[1].estimate, pair[0]))
        for rank, (item, found) in enumerate(ranked, 1):
            yield f"{query.name}:{item}", rank, found
