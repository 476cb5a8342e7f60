"""The `farwatch` command. Each verb's module is imported when the verb is called."""

from __future__ import annotations

import os
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.looking.light import spare_pandas
from jobs.simulate import command as simulate
from monitoring_lib.errors import ExitCode, FarwatchError, Transient, UsageError

if TYPE_CHECKING:
    from jobs.context import Context
    from jobs.handover import Handover

app = typer.Typer(
    name="farwatch",
    help="Watches what happens across many sites, epoch by epoch, without bringing the raw data to one place.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

SourceName = Annotated[str, typer.Option("--source", help="Name of a source in conf.")]
From = Annotated[str, typer.Option("--from", metavar="TIME", help="First epoch's start, ISO 8601, UTC.")]
To = Annotated[str, typer.Option("--to", metavar="TIME", help="Where the last epoch ends; not part of the range.")]
Monitors = Annotated[str, typer.Option("--monitors", metavar="a,b", help="Only these monitors.")]
Revise = Annotated[str, typer.Option("--revise", metavar="REASON", help="Seal a correction over sealed epochs.")]
Given = Annotated[Path | None, typer.Option("--given", help="File with the last line of the step before.")]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]
Monitor = Annotated[str, typer.Argument(metavar="MONITOR", help="Name of a monitor in conf.")]
Epoch = Annotated[
    str | None,
    typer.Option("--epoch", metavar="TIME", help="The epoch that holds this time; default: the last sealed."),
]

_STEPS = {
    "land": "Step 1: new files become events, each row under its own epoch.",
    "gate": "Step 2: may these epochs run, and which sites are fit to take part?",
    "summarise": "Step 3: synopses of every site and epoch, made by Spark.",
    "observe": "Step 4: the sites take in the epoch and say what they have to say.",
    "resolve": "Step 5: rounds until nobody has anything to say; the answer, as a draft.",
    "validate": "Step 6: structure and protocol invariants of what would be sealed.",
    "seal": "Step 7: one commit makes the epochs true; their answers are published.",
    "alert": "Step 8: what needs a person goes to the table and the sinks, once.",
}

_FIRST = ("land", "gate", "alert")
"""Steps that need no other one before them."""


def _handover(context: Context, source: str, start: str, end: str, monitors: str, revise: str) -> Handover:
    from jobs.handover import Handover
    from monitoring_lib.epochs import parse_time

    try:
        interval = parse_time(start), parse_time(end)
    except ValueError as error:
        raise UsageError(f"--from/--to: {error}") from error
    only = [name for name in monitors.split(",") if name]
    return Handover.begin(source, context.config.source(source).clock, *interval, only, revise)


def _add_step(name: str, text: str) -> None:
    @app.command(name, help=text, rich_help_panel="One epoch, step by step")
    def step(
        source: SourceName,
        start: From,
        end: To,
        monitors: Monitors = "",
        revise: Revise = "",
        given: Given = None,
    ) -> None:
        from jobs.context import Context
        from jobs.handover import GIVEN, Handover
        from jobs.run import STEPS

        context = Context.from_environment()
        text = given.read_text(encoding="utf-8").splitlines()[-1] if given else os.environ.get(GIVEN, "")
        fresh = _handover(context, source, start, end, monitors, revise)
        if not text and name not in _FIRST:
            raise UsageError(f"{name}: needs the hand-over of the step before, in {GIVEN} or by --given")
        handover = Handover.from_json(text).for_same(fresh) if text and name != "land" else fresh
        STEPS[name](context, handover)
        print(handover.to_json())


for _name, _text in _STEPS.items():
    _add_step(_name, _text)


@app.command("run", rich_help_panel="Running")
def run_range(
    source: SourceName, start: From, end: To, monitors: Monitors = "", revise: Revise = "", json: Json = False
) -> None:
    """All eight steps over a range of epochs, in one process."""
    from jobs.context import Context
    from jobs.run import run

    context = Context.from_environment()
    handover = run(context, _handover(context, source, start, end, monitors, revise))
    if json:
        print(handover.to_json())


@app.command("query", rich_help_panel="Looking")
def query(
    monitor: Annotated[str | None, typer.Argument(metavar="MONITOR", help="Name of a monitor.")] = None,
    epoch: Epoch = None,
    history: Annotated[int, typer.Option(metavar="N", help="Also the last N epochs.")] = 0,
    sql: Annotated[
        str | None, typer.Option(metavar="SELECT", help="Any SELECT over sealed rows; try 'SHOW TABLES'.")
    ] = None,
    json: Json = False,
) -> None:
    """A monitor's answer with its bounds, or the result of a SELECT over all that is sealed."""
    spare_pandas()
    from jobs import query

    query.run(monitor, epoch=epoch, history=history, sql=sql, as_json=json)


@app.command("status", rich_help_panel="Looking")
def status(json: Json = False) -> None:
    """How far every monitor has come, what waits, what is stale, and what was alerted."""
    spare_pandas()
    from jobs import status

    status.run(as_json=json)


@app.command("inspect", rich_help_panel="Looking")
def inspect(
    monitor: Monitor,
    epoch: Epoch = None,
    node: Annotated[str | None, typer.Option(metavar="NODE", help="Such as @coordinator.")] = None,
    site: Annotated[str | None, typer.Option(metavar="SITE", help="A site's name.")] = None,
    method: Annotated[str | None, typer.Option(help="The method or a shadow; default: the method.")] = None,
    what: Annotated[str, typer.Option(metavar="messages|state|answer|seal")] = "messages",
    json: Json = False,
) -> None:
    """What the nodes of a sealed epoch said and remember, decoded."""
    spare_pandas()
    from jobs import inspecting

    inspecting.run(monitor, epoch=epoch, node=node, site=site, method=method, what=what, as_json=json)


app.command("simulate", rich_help_panel="Trying out")(simulate)


@app.command("check-config", rich_help_panel="Trying out")
def check_config(json: Json = False) -> None:
    """All faults of all configuration files at once, each with what to do about it."""
    from jobs import check_config

    raise typer.Exit(check_config.run(as_json=json))


@app.command("demo", rich_help_panel="Trying out")
def demo() -> None:
    """Six epochs of a made-up content network through Airflow, Spark, Delta and Great Expectations."""
    from jobs import demo

    demo.run()


@app.command("up", rich_help_panel="Running")
def up(demo: Annotated[bool, typer.Option("--demo", help="On the tables of the last demo.")] = False) -> None:
    """Starts Airflow with its UI, and Spark, on this machine, and leaves them running."""
    from jobs import up_down

    up_down.up(demo=demo)


@app.command("down", rich_help_panel="Running")
def down() -> None:
    """Stops what `up` started."""
    from jobs import up_down

    up_down.down()


@cache
def command() -> Any:
    """The command as Click has it, made once a process."""
    return typer.main.get_command(app)


def main() -> None:
    """The entry point: errors become one sentence and the exit code of their kind."""
    try:
        command()(prog_name="farwatch", standalone_mode=True)
    except FarwatchError as error:
        _say_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j", "grpc"):
            raise
        traceback.print_exc()
        _say_error(Transient(f"Spark failed: {error}"))
        sys.exit(ExitCode.RETRY)


def _say_error(error: FarwatchError) -> None:
    from jobs.report import say

    say(f"farwatch: {error}", style="bold red")


if __name__ == "__main__":
    main()
