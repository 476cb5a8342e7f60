"""What a stored state says to a query that the monitor's file does not have."""

from __future__ import annotations

import math
from dataclasses import replace

from pydantic import ValidationError

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.epochs import format_duration
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Ask, LookUp
from monitoring_lib.protocols.recent_counts.queries import KINDS, Query
from monitoring_lib.protocols.recent_counts.question import faults_of
from monitoring_lib.protocols.recent_counts.rows import Recent, rows_of


def look_up(ask: Ask, recent: Recent, node: str, tick: int, asked: LookUp, partial: bool) -> Answers:
    """The rows of what is asked over a range; without anything but a range, the number of all events."""
    assert ask.span is not None
    span = ask.span if asked.range is None else _ticks(ask, asked.range)
    keys: dict[str, object] = {"point": asked.point} if asked.point is not None else dict(asked.query)
    if not keys:
        found, lacks = recent.events(span), recent.lacks(span)
        high = math.inf if lacks else found.high
        row = Answer(node, tick, "", None, found.estimate, found.low, high, found.confidence, partial or lacks)
        return Answers.of([row])
    query = _query(ask, keys, span)
    reason = recent.cannot(query, span)
    if reason is not None:
        raise UsageError(f"{query.kind}: {reason}")
    rows = rows_of(ask, recent, query, node, tick, partial)
    return Answers.of([replace(row, key=_key(query, row.key)) for row in rows])


def _ticks(ask: Ask, length: int) -> int:
    assert ask.span is not None
    if length % ask.tick or not 0 < length <= ask.span * ask.tick:
        raise UsageError(
            f"--range {format_duration(length)}: the monitor knows ranges of whole ticks of"
            f" {format_duration(ask.tick)} up to its window of {format_duration(ask.span * ask.tick)}"
        )
    return length // ask.tick


def _query(ask: Ask, keys: dict[str, object], span: int) -> Query:
    strange = sorted(keys.keys() - set(KINDS))
    if strange:
        raise UsageError(f"--ask: no query has {', '.join(strange)}; ask one of {', '.join(KINDS)}")
    try:
        query = Query.model_validate({"name": "asked", "range": f"{span * ask.tick}us", **keys})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "--ask"
        raise UsageError(f"--ask: {place}: {first['msg']}") from error
    for fault in faults_of(ask, query, ()):
        raise UsageError(f"--ask: {fault.problem}; {fault.remedy}")
    return query


def _key(query: Query, key: str) -> str:
    """An item, a share, or the kind of the query, without the name that it has here."""
    if query.point is not None:
        return query.point
    return query.kind if key == query.name else key.removeprefix(f"{query.name}:")
