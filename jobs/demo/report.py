"""What the demo ends with: answers, what crossed, who was set aside, what each step took, what to try next."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.context import Context
from jobs.demo.view import VERBS, Step
from jobs.demo.world import ENVIRONMENT, SOURCE, World
from jobs.lake.seals import Seal
from jobs.simulation_report import number, printable
from jobs.summaries import wanted_by
from monitoring_lib.config import Monitor, load
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.protocols import find_question
from monitoring_lib.tables import ANSWERS, LANDINGS, SYNOPSES, TABLES, VALIDATIONS

WIDTH = 110
MOST_ROWS = 5


def show(world: World, steps: Sequence[Step]) -> None:
    """Prints the report on standard output."""
    context = Context(load(world.folder / "conf", ENVIRONMENT), world.folder)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    for part in [
        *(_answer(context, monitor) for monitor in context.config.monitors_of(SOURCE)),
        _set_aside(context),
        _landed(context),
        _times(context, steps),
        _places(world),
        _next(world),
    ]:
        console.print()
        console.print(part)


def _answer(context: Context, monitor: Monitor) -> RenderableType:
    source = context.config.source(SOURCE)
    seals = context.lake.ledger.seals(SOURCE, monitor.name)
    last = seals[-1]
    rows = context.lake.centre.read(
        ANSWERS, [("monitor", "=", monitor.name), ("epoch_start", "=", last.epoch_start)]
    ).to_pylist()
    ranked = sorted(
        (row for row in rows if row["revision"] == last.revision and row["rank"]), key=lambda row: row["rank"]
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, justify in (("rank", "right"), ("", "left"), ("low", "right"), ("high", "right")):
        table.add_column(title, justify="right" if justify == "right" else "left")
    for row in ranked[:MOST_ROWS]:
        table.add_row(str(row["rank"]), printable(row["key"]), number(row["low"]), number(row["high"]))
    window = "growing" if monitor.window is None else f"the last {format_duration(monitor.window)}"
    head = Text.assemble((monitor.title or monitor.name, "bold"), f"   {monitor.measure}, {window}, top {len(ranked)}")
    promise = find_question(monitor.question).promise(monitor.ask(source.epoch, source.scale))
    sites = len({site for seal in seals for site in seal.joined_sites})
    crossed, shipping = (
        sum(seal.counts["message_bytes"] for seal in seals),
        _shipping(context, monitor, seals),
    )
    foot = Text(
        f"{promise}, {sites - len(last.missing_sites)} of {sites} sites,"
        f" epoch {format_time(last.epoch_start)};"
        f" {size(crossed)} crossed in {len(seals)} epochs where shipping every count takes {size(shipping)}",
        "green",
    )
    return Group(head, table, foot)


def _shipping(context: Context, monitor: Monitor, seals: Sequence[Seal]) -> int:
    """Bytes of all synopses: what the coordinator would get if every site sent every count of every epoch."""
    name = wanted_by(monitor, context.config.source(SOURCE)).name
    rows = context.lake.sealed(SYNOPSES, seals, ["synopses"], [("summary", "=", name)], ["payload"])
    return sum(map(len, rows["payload"].to_pylist()))


def _set_aside(context: Context) -> RenderableType:
    rows = context.lake.centre.read(VALIDATIONS, [("source", "=", SOURCE), ("step", "=", "gate")]).to_pylist()
    found = [row for row in rows if row["site"] and not row["success"] and row["severity"] == "critical"]
    lines = [
        f"  {printable(row['site'])} in epoch {row['epoch_start']:%H:%M}: {row['expectation']}"
        f" ({'; '.join(filter(None, [row['observed'], row['detail']]))})"
        for row in sorted(found, key=lambda row: (row["epoch_start"], row["site"]))
    ]
    return Group(Text("Sites set aside, and why", "bold"), Text("\n".join(lines) or "  none", "yellow"))


def _landed(context: Context) -> RenderableType:
    rows = context.lake.sites.read(LANDINGS, [("source", "=", SOURCE)]).to_pylist()
    total = {name: sum(row[name] for row in rows) for name in ("read", "landed", "quarantined", "late")}
    again = [row for row in rows if row["note"].startswith("same content")]
    return Text(
        f"{len(rows)} files: {total['read']:,} rows read = {total['landed']:,} landed"
        f" + {total['quarantined']:,} in quarantine with a reason; {total['late']:,} came after their epoch"
        f" was sealed; {len(again)} file came twice and landed once"
    )


def _times(context: Context, steps: Sequence[Step]) -> RenderableType:
    """Seconds by step: as Airflow saw the task, and of that the step's own work."""
    own: dict[str, list[float]] = {verb: [] for verb in VERBS}
    monitor = context.config.monitors_of(SOURCE)[0].name
    for seal in context.lake.ledger.seals(SOURCE, monitor):
        for verb, taken in seal.times.items():
            own[verb].append(taken / 1e6)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("seconds, median of the epochs")
    for verb in VERBS:
        table.add_column(verb, justify="right")
    tasks = {verb: [step.seconds for step in steps if step.verb == verb] for verb in VERBS}
    table.add_row("task in Airflow", *(f"{median(tasks[verb]):.1f}" for verb in VERBS))
    table.add_row("the step's own work", *(f"{median(own[verb]):.1f}" if own[verb] else "" for verb in VERBS))
    return table


def _places(world: World) -> RenderableType:
    here = Path(os.path.relpath(world.folder))
    names = [", ".join(sorted(t.name for t in TABLES.values() if t.at_sites == at)) for at in (False, True)]
    return Text.assemble(
        ("Where everything is (Delta tables: any tool may read them)\n", "bold"),
        f"  {here}/tables/coordinator   {names[0]}\n",
        f"  {here}/tables/sites         {names[1]}\n",
        f"  {here}/airflow/logs         the log of every task\n",
        f"  {here}/alerts.jsonl         what a person was told",
    )


def _next(world: World) -> RenderableType:
    here = Path(os.path.relpath(world.folder))
    setting = f"FARWATCH_HOME={here} FARWATCH_CONF={here}/conf FARWATCH_ENV={ENVIRONMENT}"
    span = f"--from {world.epochs[0]:%Y-%m-%dT%H:%MZ} --to {world.epochs[-1]:%Y-%m-%dT%H:%MZ}"
    return Text.assemble(
        ("What to try next\n", "bold"),
        f"  export {setting}\n",
        "  farwatch query busiest-objects                    the current answer; --sql for any question\n",
        "  farwatch status                                   the last sealed epoch of each monitor\n",
        f"  farwatch run --source {SOURCE} {span} --revise 'late rows'\n",
        "  make up, make down                                Airflow with its UI on your own configuration",
    )


def size(count: int) -> str:
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
