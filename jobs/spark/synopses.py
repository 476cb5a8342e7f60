"""All synopses that a source's monitors ask for, of its events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from jobs.spark.building import Making
from jobs.spark.event_columns import EventColumns
from jobs.spark.grouped import grouped
from jobs.spark.groupings import groupings_of
from jobs.spark.parts import in_parts
from monitoring_lib.epochs import Clock
from monitoring_lib.summaries import Intake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def synopses_of(
    events: DataFrame, intakes: Sequence[Intake], *, source: str, clock: Clock, scales: Mapping[str, int], write: str,
    file_order: DataFrame | None = None, exact: Collection[str] = (),
) -> DataFrame:  # fmt: skip
    """The columns of SYNOPSES, one row a (intake, site, epoch) that has events.

    The events are scanned once, however many intakes there are, and intakes that ask for the same keys share their
    rows; a second time only for those that are built of parts where the events are.
    `scales` names the value columns, `file_order` says the path of each digest (only `last` needs it), `exact`
    names the intakes whose synopses are exact: the others' cost of shipping is estimated.
    """
    making = Making(source, write, clock, frozenset(exact))
    columns = EventColumns(clock, scales)
    groupings = groupings_of(intakes)
    if not groupings:
        raise ValueError("no intake is given, so there is nothing to summarise")
    where_events_are = [grouping for grouping in groupings if grouping.in_parts and grouping.bits is None]
    by_key = [grouping for grouping in groupings if grouping not in where_events_are]
    frames = [in_parts(events, where_events_are, columns, making)] if where_events_are else []
    frames += [grouped(events, by_key, columns, file_order, making)] if by_key else []
    return reduce(lambda one, other: one.unionByName(other), frames)
