"""Step 4, observe: the sites of each monitor take in their first epoch and send what its protocol asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor, moved
from jobs.epoch.handover import Handover
from jobs.epoch.inputs import Inputs
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.output import Output
from jobs.epoch.reasons import with_epoch
from jobs.epoch.rows import cursor_row, message_rows, roster_rows
from jobs.epoch.runs import runs_of
from jobs.lake import new_write
from jobs.sites.choice import Places
from jobs.sites.process import ProcessSites
from jobs.sites.shared import SharedJobs
from jobs.sites.spark import SparkSites
from monitoring_lib.tables import CURSORS, MESSAGES, OUTBOX, ROSTERS, SITE_STATES


def observe(context: Context, handover: Handover) -> None:
    """Writes states and outbox at the sites; delivers the outbox, and who has joined, to the coordinator.

    In a range of epochs the sites' second epoch waits for what the first one brings: `resolve` goes on there.
    """
    if not handover.running:
        return
    with handover.timed("observe"):
        output = Output(context.lake, handover, "observe", new_write("observe"))
        runs, jobs, places = runs_of(context, handover), SharedJobs(context.lake), Places(context, handover)
        sites: dict[tuple[str, str], ProcessSites | SparkSites] = {}
        for name, run in runs.items():
            with handover.alone(name):
                inputs = Inputs(context.lake, run)
                for method in run.methods:
                    sites[name, method.name] = (
                        SparkSites(jobs, run, method, "observe", output.write)
                        if places.observes_in_spark(run, method)
                        else ProcessSites(context.lake, run, method, inputs, output.write)
                    )
        failed = jobs.run_all(
            {key: partial(_observe_first, one, handover) for key, one in sites.items() if isinstance(one, SparkSites)}
        )
        for name in dict.fromkeys(name for name, _ in sites):
            with handover.alone(name):
                _observe_monitor(handover, runs[name], sites, failed, output)
        output.finish()
        handover.writes |= dict.fromkeys(("site_states", "outbox", "inbox", "rosters"), output.write)


def _observe_first(sites: ProcessSites | SparkSites, handover: Handover) -> None:
    run = sites.run
    with with_epoch(run.start_of(run.first)):
        handover.local.said[run.monitor.name, sites.method.name] = sites.observe(run.first)


def _observe_monitor(
    handover: Handover, run: MonitorRun, sites: Mapping[tuple[str, str], ProcessSites | SparkSites],
    failed: Mapping[tuple[str, str], Exception], output: Output,
) -> None:  # fmt: skip
    """What one monitor's methods have observed; those whose sites are in this process do it now."""
    name = run.monitor.name
    cursor: Cursor = run.next_cursor(run.first_cursor, run.first)
    for method in run.methods:
        key = name, method.name
        if key in failed:
            raise failed[key]
        if isinstance(sites[key], ProcessSites):
            _observe_first(sites[key], handover)
        stored = sites[key].stored[run.first]
        cursor = replace(cursor, sites=moved(cursor.sites, method.name, run.first, stored))
        output.add(MESSAGES, message_rows(handover.local.said[key], run.clock, name, method.name, output.write))
        output.add(SITE_STATES, sites[key].states)
        output.add(OUTBOX, sites[key].outbox)
        output.records += sites[key].records
        handover.local.sites[key] = sites[key]
    joined = [(one.number, member) for one in run.plan.epochs for member in one.joined]
    output.add(ROSTERS, roster_rows(joined, len(run.plan.cursor.members), run.clock, name, output.write))
    output.add(CURSORS, cursor_row(cursor, run.start_of(run.first), name, output.write))
    handover.local.cursors[name] = cursor
