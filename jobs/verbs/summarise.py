"""Step 3, summarise: the synopses of every (site, epoch) of the range for all monitors, made by Spark."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow.compute as pc

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.runs import runs_of
from jobs.lake import Lake, column_list, new_write
from jobs.lake.records import record
from jobs.spark.synopses import synopses_of
from monitoring_lib.config import Monitor, Source
from monitoring_lib.errors import DataError
from monitoring_lib.summaries import Intake
from monitoring_lib.tables import LANDINGS, SYNOPSES, WRITES


@dataclass(frozen=True)
class Wishes:
    """What one monitor's methods take in; `exact` names what its truth is computed from, taken in or not."""

    intakes: dict[str, Intake]
    exact: str

    @classmethod
    def of(cls, monitor: Monitor, source: Source) -> Wishes:
        chosen, shadows = monitor.method_objects(source)
        intakes = [monitor.intake(method.summary(), source) for method in (chosen, *shadows)]
        exact = monitor.intake(chosen.question.exact(chosen.ask), source)
        return cls({intake.name: intake for intake in intakes}, exact.name)


def summarise(context: Context, handover: Handover) -> None:
    """Writes one row a (summary, site, epoch) that has events; nothing where there are none, or where it is done.

    A summary that cannot be made fails the monitors that take it in, and no other.
    """
    if not handover.running:
        return
    with handover.timed("summarise"):
        if "synopses" not in handover.writes and not write_synopses(context, handover):
            return
        faults = _faults(context.lake, handover, handover.write_of("synopses"))
        if not faults:
            return
        runs = runs_of(context, handover)
        for name, wish in _wishes(context, handover).items():
            found = sorted(one.text for one in faults if one.summary in wish.intakes and one.concerns(runs[name]))
            if found:
                handover.fail(name, DataError(found[0]))


def write_synopses(context: Context, handover: Handover) -> bool:
    """The synopses of all epochs of the hand-over, by one Spark job; whether there were any to write.

    A long range has them made before its chunks begin.
    """
    source = context.config.source(handover.source)
    write = handover.writes["synopses"] = new_write("summarise")
    start = min(handover.monitors[name] for name in handover.running)
    if not any(seal.counts.get("landed") for seal in context.lake.ledger.landed(source.name, start, handover.end)):
        return False
    wishes = _wishes(context, handover)
    if wishes:
        landed = context.lake.count_events(source, handover.landing, start, handover.end)
        context.lake.refuse_lost_events(source, handover.landing, start, handover.end, landed)
        _write(context.lake, source, wishes.values(), handover, start, write)
    return bool(wishes)


def _wishes(context: Context, handover: Handover) -> dict[str, Wishes]:
    wishes: dict[str, Wishes] = {}
    for name in handover.running:
        with handover.alone(name):
            wishes[name] = Wishes.of(context.config.monitor(name), context.config.source(handover.source))
    return wishes


def _write(lake: Lake, source: Source, wishes: Collection[Wishes], handover: Handover, start: int, write: str) -> None:
    from pyspark.sql import functions as F

    intakes = {name: intake for wish in wishes for name, intake in wish.intakes.items()}
    landings = lake.frame(LANDINGS).where(F.col("source") == source.name)
    rows = synopses_of(
        lake.events(source, handover.landing, start, handover.end), [intakes[name] for name in sorted(intakes)],
        source=source.name, clock=source.clock, scales=source.scales, write=write,
        file_order=landings.select("digest", "path"), exact={wish.exact for wish in wishes},
    )  # fmt: skip
    written = lake.site_tables.append_told(SYNOPSES, rows)
    lake.append(WRITES, record(SYNOPSES, source.name, "summarise", written, write))


@dataclass(frozen=True)
class _CellFault:
    """Why a summary could not be made of a cell."""

    summary: str
    epoch_start: int
    site: str
    text: str

    def concerns(self, run: MonitorRun) -> bool:
        """Not where the monitor does without the cell: the epoch is sealed already, or the site is set aside."""
        epoch = run.clock.epoch_of(self.epoch_start)
        return epoch >= run.first and self.site not in run.missing(epoch)


def _faults(lake: Lake, handover: Handover, write: str) -> list[_CellFault]:
    columns = ["summary", "epoch_start", "site", "fault"]
    rows = lake.of_writes(SYNOPSES, [write], handover.span, columns)
    rows = rows.filter(pc.is_valid(rows["fault"]))
    return [_CellFault(*row) for row in zip(*(column_list(rows, name) for name in columns), strict=True)]
