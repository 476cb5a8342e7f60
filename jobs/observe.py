"""Step 4, observe: the sites of each monitor take in their first epoch and say what they have to say."""

from __future__ import annotations

from typing import Any

from jobs.context import Context
from jobs.epoch_plan import Plan, plan
from jobs.handover import Handover
from jobs.lake import new_write
from jobs.lake.records import record, record_site_write, recorded
from jobs.process_sites import ProcessSites
from jobs.rows import message_row
from jobs.spark_sites import SparkSites
from monitoring_lib.methods import Method
from monitoring_lib.tables import MESSAGES, OUTBOX, ROSTERS, SITE_STATES, WRITES

_SMALL_EPOCH = 4_000_000
_SMALL_STATES = 64_000_000

Rows = list[dict[str, Any]]


def observe(context: Context, handover: Handover) -> None:
    """Writes states and outbox at the sites; delivers the outbox, and who has joined, to the coordinator.

    In a range of epochs the sites' second epoch waits for what the first one brings: `resolve` goes on there.
    """
    if not handover.monitors:
        return
    with handover.timed("observe"):
        write = new_write("observe")
        messages: Rows = []
        joined: Rows = []
        here: list[ProcessSites] = []
        in_spark = False
        for name in sorted(handover.monitors):
            run = plan(context, handover, name)
            joined += run.roster_rows(write)
            for method in run.methods:
                sites = place(context, run, method, write)
                messages += [message_row(sent, run.chain.clock, name, method.name, write) for sent in sites.observe()]
                if isinstance(sites, ProcessSites):
                    here.append(sites)
                    context.live[write, name, method.name] = sites
                else:
                    in_spark = True
        states = [row for sites in here for row in sites.states]
        context.lake.append(SITE_STATES, states)
        context.lake.append(OUTBOX, [row for sites in here for row in sites.outbox])
        context.lake.append(MESSAGES, messages)
        context.lake.append(ROSTERS, joined)
        records = [
            *record(MESSAGES, handover.source, "observe", messages, write),
            *record(ROSTERS, handover.source, "observe", joined, write),
        ]
        if in_spark:
            records += record_site_write(context.lake, SITE_STATES, handover.source, "observe", write)
        else:
            records += record(SITE_STATES, handover.source, "observe", states, write)
        context.lake.append(WRITES, records)
        handover.writes |= {"site_states": write, "outbox": write, "inbox": write, "rosters": write}


def place(context: Context, run: Plan, method: Method, write: str) -> ProcessSites | SparkSites:
    """Where the sites' side of the epoch runs: in Spark's tasks, or here where that is small."""
    wish = context.config.settings.sites_run
    if wish == "process" or len(run.epochs) > 1 or (wish == "auto" and _is_small(context, run)):
        return ProcessSites(context.lake, run, method, write)
    return SparkSites(context.lake, run, method, write)


def _is_small(context: Context, run: Plan) -> bool:
    records = recorded(context.lake, [run.inputs.write], [("epoch_start", "=", run.epoch_start)])
    arriving = sum(row["bytes"] for row in records.values())
    states = sum(seal.counts.get("site_state_bytes", 0) for seal in run.chain.seals)
    return arriving <= _SMALL_EPOCH and states <= _SMALL_STATES
