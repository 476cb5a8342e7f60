"""What the demo ends with: answers, what crossed, who was set aside, what each step took, what to try next."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from jobs.epoch.context import Context
from jobs.local.demo.view import TaskProgress
from jobs.local.demo.world import ENVIRONMENT, SOURCE, World
from jobs.looking import answer_report, printing
from jobs.looking.answer import look
from jobs.looking.standing import standing
from jobs.terminal.wording import counted, printable
from monitoring_lib.config import load
from monitoring_lib.tables import LANDINGS, TABLES, VALIDATIONS
from monitoring_lib.verbs import VERBS

if TYPE_CHECKING:
    from rich.table import Table


def show(world: World, steps: Sequence[TaskProgress]) -> None:
    """Prints the report on standard output."""
    context = Context(load(world.folder / "conf", ENVIRONMENT), world.folder)
    found = [look(context, monitor.name) for monitor in context.config.monitors_of(SOURCE)]
    printing.line("")
    answer_report.show(found, as_json=False, loads=[None] * len(found))
    for part in (_set_aside, _owed, _audited, _landed):
        printing.line("")
        for line in part(context):
            printing.line(line)
    printing.line("")
    printing.show(_times(context, steps))
    for line in (*_folders(world), *_next(world)):
        printing.line(line)


def _set_aside(context: Context) -> list[str]:
    rows = context.lake.centre.read(VALIDATIONS, [("source", "=", SOURCE), ("step", "=", "gate")]).to_pylist()
    found = [row for row in rows if row["site"] and not row["success"] and row["severity"] == "critical"]
    return [
        f"set aside: site {printable(row['site'])} in epoch {row['epoch_start']:%H:%M}, for {row['expectation']}"
        f" ({'; '.join(filter(None, [row['observed'], row['detail']]))})"
        for row in sorted(found, key=lambda row: (row["epoch_start"], row["site"]))
    ] or ["no site was set aside"]


def _owed(context: Context) -> list[str]:
    """Rows that wait for a decision, each with the commands that decide; they need the variables named below."""
    return [one.text for one in standing(context, context.config.source(SOURCE)).owed]


def _audited(context: Context) -> list[str]:
    """What the audit found of each monitor."""
    found = {one.monitor.name: one.audited for one in standing(context, context.config.source(SOURCE)).monitors}
    kept = [one for one in found.values() if one is not None and one.kept == one.epochs]
    lines = [f"audit: {counted(len(kept), 'monitor')} of {len(found)} kept every promise in every epoch"]
    broken = {name: one for name, one in found.items() if one is not None and one.kept < one.epochs}
    return [*lines, *(f"{name}: {one.text}" for name, one in sorted(broken.items()))]


def _landed(context: Context) -> list[str]:
    rows = context.lake.sites.read(LANDINGS, [("source", "=", SOURCE)]).to_pylist()
    total = {name: sum(row[name] for row in rows) for name in ("read", "landed", "quarantined", "late")}
    again = sum(row["note"].startswith("same content") for row in rows)
    return [
        f"landed: {counted(len(rows), 'file')}; {total['read']:,} rows read = {total['landed']:,} landed"
        f" + {total['quarantined']:,} in quarantine, each with its reason; {total['late']:,} rows came after"
        f" their epoch was sealed; {counted(again, 'file')} came twice and landed once"
    ]


def _times(context: Context, steps: Sequence[TaskProgress]) -> Table:
    """Seconds by step: as Airflow saw the task, and of that the step's own work."""
    own: dict[str, list[float]] = {}
    for seal in context.lake.ledger.seals(SOURCE, context.config.monitors_of(SOURCE)[0].name):
        for verb, taken in seal.times.items():
            own.setdefault(verb, []).append(taken / 1e6)
    tasks = {verb: [step.seconds for step in steps if step.verb == verb] for verb in VERBS}
    table = printing.table("seconds, median of the epochs", *VERBS, right=VERBS)
    table.add_row("task in Airflow", *(f"{median(tasks[verb]):.1f}" for verb in VERBS))
    table.add_row("of that its own work", *(f"{median(own[verb]):.1f}" if verb in own else "-" for verb in VERBS))
    return table


def _folders(world: World) -> list[str]:
    here = os.path.relpath(world.folder)
    names = [", ".join(sorted(t.name for t in TABLES.values() if t.at_sites == at)) for at in (False, True)]
    return [
        "",
        "where everything is (Delta tables: any tool may read them)",
        f"  {here}/tables/coordinator  {names[0]}",
        f"  {here}/tables/sites        {names[1]}",
        f"  {here}/airflow/logs        the log of every task",
        f"  {here}/alerts.jsonl        what a person would have been told",
    ]


def _next(world: World) -> list[str]:
    here = os.path.relpath(world.folder)
    end = world.epochs[-1] + timedelta(hours=1)
    span = f"--from {world.epochs[0]:%Y-%m-%dT%H:%MZ} --to {end:%Y-%m-%dT%H:%MZ}"
    command = "farwatch"
    if shutil.which(command) is None:
        command = os.path.relpath(Path(sys.executable).with_name(command))
    tries = {
        f"{command} up --demo": "the same in Airflow's UI; `down` stops it",
        f"export FARWATCH_HOME={here} FARWATCH_CONF={here}/conf FARWATCH_ENV={ENVIRONMENT}": "",
        f"{command} query busiest-objects --history 6": "how the answer changed",
        f"{command} status": "what is sealed, and what is stale because of late rows",
        f"{command} report --out report.html": "one page with all answers over time; open it in a browser",
        f"{command} inspect busiest-objects --what state": "what the coordinator remembers",
        f"{command} run --source {SOURCE} {span} --revise 'late rows'": "",
    }
    return ["", "what to try next", *(f"  {what:<45}  {why}".rstrip() for what, why in tries.items())]
