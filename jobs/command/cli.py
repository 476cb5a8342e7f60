"""The `farwatch` command. Each verb's module is imported when the verb is called."""

from __future__ import annotations

import os
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.looking.light import spare_pandas
from jobs.simulation.command import command as simulate
from monitoring_lib import __version__
from monitoring_lib.errors import ExitCode, FarwatchError, UsageError
from monitoring_lib.verbs import MEANINGS

if TYPE_CHECKING:
    from jobs.epoch.context import Context
    from jobs.epoch.handover import Handover

app = typer.Typer(
    name="farwatch",
    help="Watches what happens across many sites, epoch by epoch, without bringing the raw data to one place.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"farwatch {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself; the rest is in its verbs."""


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


class ChangedFile(Enum):
    """What becomes of a file that has changed since it landed."""

    replace = "replace"
    append = "append"


_OF_SPARK = ("deltalake", "duckdb", "great_expectations", "pandas", "pyspark")
"""What the extra `spark` installs."""
_FIRST = ("gate", "alert")
"""Steps that need no other one before them."""


def _handover(context: Context, source: str, start: str, end: str, monitors: str, revise: str) -> Handover:
    from jobs.epoch.handover import Handover
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
        from jobs.command.run import STEPS, replay_late
        from jobs.epoch.context import Context
        from jobs.epoch.handover import GIVEN, Handover

        context = Context.from_environment()
        text = given.read_text(encoding="utf-8").splitlines()[-1] if given else os.environ.get(GIVEN, "")
        fresh = _handover(context, source, start, end, monitors, revise)
        if not text and name not in _FIRST:
            raise UsageError(f"{name}: needs the hand-over of the step before, in {GIVEN} or by --given")
        handover = Handover.from_json(text).for_same(fresh) if text else fresh
        if name == "gate":
            replay_late(context, handover)
        try:
            STEPS[name](context, handover)
        except FarwatchError:
            if handover.sealed:  # what was sealed beside the monitors that failed is sealed all the same
                print(handover.to_json())
            raise
        print(handover.to_json())


@app.command("land", help=f"Step 1. {MEANINGS['land']}", rich_help_panel="One epoch, step by step")
def land(
    source: Annotated[str, typer.Option("--source", help="Name of a source in conf; with --again default: all.")] = "",
    start: From = "",
    end: To = "",
    monitors: Monitors = "",
    revise: Revise = "",
    again: Annotated[
        bool, typer.Option("--again", help="Read set-aside rows and refused files anew; needs no --from and --to.")
    ] = False,
    changed: Annotated[
        ChangedFile | None, typer.Option(help="Once, in place of `changed_files`; needs no --from and --to.")
    ] = None,
    given: Given = None,
) -> None:
    from jobs.epoch.context import Context
    from jobs.epoch.handover import Handover
    from jobs.verbs.land import land

    context = Context.from_environment()
    if again or changed:
        for name in [source] if source else sorted(context.config.sources):
            origin = context.config.source(name).origin
            land(context, Handover(name, origin, origin), again=again, changed=changed.value if changed else None)
        return
    missing = [name for name, text in (("--source", source), ("--from", start), ("--to", end)) if not text]
    if missing:
        raise UsageError(f"land: {', '.join(missing)} is missing; `farwatch land --again` alone needs none of them")
    handover = _handover(context, source, start, end, monitors, revise)
    land(context, handover)
    print(handover.to_json())


for _number, (_name, _text) in enumerate(MEANINGS.items(), start=1):
    if _name != "land":
        _add_step(_name, f"Step {_number}. {_text}")


@app.command("run", rich_help_panel="Running")
def run_range(
    source: SourceName, start: From, end: To, monitors: Monitors = "", revise: Revise = "", json: Json = False
) -> None:
    """All eight steps over a range of epochs, in one process."""
    from jobs.command.run import run
    from jobs.epoch.context import Context

    context = Context.from_environment()
    handover = run(context, _handover(context, source, start, end, monitors, revise))
    if json:
        print(handover.to_json())


SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="Name of a source in conf.")]
SetAsideSite = Annotated[str, typer.Option("--site", metavar="SITE", help="The site that was set aside.")]
SetAsideEpoch = Annotated[str, typer.Option("--epoch", metavar="TIME", help="The epoch that holds this time.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the seals keep it.")]


@app.command("admit", rich_help_panel="Running")
def admit(source: SourceArgument, site: SetAsideSite, epoch: SetAsideEpoch, reason: Reason) -> None:
    """Takes in a site's epoch that was set aside: all chains are replayed from that epoch on."""
    from jobs.command.deciding import decide

    decide(source, site, epoch, reason, "admitted")


@app.command("reject", rich_help_panel="Running")
def reject(source: SourceArgument, site: SetAsideSite, epoch: SetAsideEpoch, reason: Reason) -> None:
    """Leaves out a site's epoch that was set aside, for good: answers that lack it keep saying so."""
    from jobs.command.deciding import decide

    decide(source, site, epoch, reason, "rejected")


@app.command("repair", rich_help_panel="Running")
def repair(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE]...", help="Names of tables; default: all.")
    ] = None,
) -> None:
    """Takes files that are gone out of the logs of damaged tables, so that the rest can be read."""
    from jobs.command import repairing

    repairing.run(tables or [])


@app.command("audit", rich_help_panel="Running")
def audit(
    source: SourceArgument,
    monitors: Monitors = "",
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="First epoch's start; default: the origin.")
    ] = "",
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="Where the last epoch ends; default: now.")] = "",
    sample: Annotated[float, typer.Option(metavar="SHARE", help="Judge only this share of the epochs.")] = 1.0,
    json: Json = False,
) -> None:
    """Judges sealed answers against the landed events, and checks every sealed row; ends with 1 if one is broken."""
    from jobs.command.auditing import run

    run(source, monitors, start, end, sample, as_json=json)


@app.command("retire", rich_help_panel="Running")
def retire(
    source: SourceArgument,
    site: Annotated[str, typer.Option("--site", metavar="SITE", help="A site that has gone for good.")],
    reason: Reason,
) -> None:
    """No answer waits for the site from the next epoch on: it counts as there, with nothing, until it has events."""
    from jobs.command.retiring import retire

    retire(source, site, reason)


@app.command("backfill", rich_help_panel="Running")
def backfill(
    source: SourceArgument,
    start: From,
    end: To,
    monitors: Monitors = "",
    revise: Revise = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much there is to do.")] = False,
    json: Json = False,
) -> None:
    """A long range of epochs, summarised at once and committed in chunks; begun again, it goes on where it was."""
    from jobs.command.backfilling import backfill
    from jobs.epoch.context import Context

    context = Context.from_environment()
    backfill(context, _handover(context, source, start, end, monitors, revise), dry_run, json)


@app.command("maintain", rich_help_panel="Running")
def maintain(
    source: Annotated[
        str, typer.Argument(metavar="[SOURCE]", help="Whose stale chains are listed; default: all sources.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, and what it saves.")] = False,
    json: Json = False,
) -> None:
    """Keeps the tables small and quick to open; answers stay as they are. Safe beside a running epoch."""
    from jobs.command.maintaining import maintain

    maintain(source, dry_run, json)


@app.command("query", rich_help_panel="Looking")
def query(
    monitor: Annotated[str | None, typer.Argument(metavar="MONITOR", help="Name of a monitor.")] = None,
    epoch: Epoch = None,
    history: Annotated[int, typer.Option(metavar="N", help="Also the last N epochs.")] = 0,
    node: Annotated[str | None, typer.Option(metavar="SITE", help="Only what this site, or @node, says.")] = None,
    links: Annotated[bool, typer.Option("--links", help="Also what each link of the network carried.")] = False,
    point: Annotated[str | None, typer.Option(metavar="KEY", help="Ask the stored state about this key.")] = None,
    range_: Annotated[
        str | None, typer.Option("--range", metavar="3d", help="Ask the stored state about this long.")
    ] = None,
    ask: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Ask the stored state a query, such as 'quantiles: [0.5]'.")
    ] = None,
    sql: Annotated[
        str | None, typer.Option(metavar="SELECT", help="Any SELECT over sealed rows; try 'SHOW TABLES'.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="ROWS", help="Of --sql: the most rows that it gives.")] = 10_000,
    seconds: Annotated[float, typer.Option(metavar="N", help="Of --sql: the most time that it takes.")] = 60,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Of --sql: the most memory that it takes.")] = "2GiB",
    json: Json = False,
) -> None:
    """A monitor's answer with its bounds, or the result of a SELECT over all that is sealed."""
    spare_pandas()
    from jobs.looking import query

    query.run(
        monitor, epoch=epoch, history=history, sql=sql, node=node, links=links, point=point, range_=range_,
        ask=ask, limit=limit, seconds=seconds, memory=memory, as_json=json,
    )  # fmt: skip


@app.command("status", rich_help_panel="Looking")
def status(
    check: Annotated[
        bool, typer.Option("--check", help="Only problems, one a line; ends with 1 if there is any.")
    ] = False,
    json: Json = False,
) -> None:
    """How far every monitor has come, what waits, what is stale, and what was alerted."""
    spare_pandas()
    from jobs.looking import status

    raise typer.Exit(status.run(as_json=json, check=check))


@app.command("quality", rich_help_panel="Looking")
def quality(
    source: SourceArgument,
    epoch: Epoch = None,
    docs: Annotated[Path | None, typer.Option("--docs", metavar="DIR", help="Write Data Docs, static pages.")] = None,
    json: Json = False,
) -> None:
    """What the last checks of a source's data found, by site."""
    from jobs.looking import quality

    quality.run(source, epoch=epoch, docs=docs, as_json=json)


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
    from jobs.looking import inspecting

    inspecting.run(monitor, epoch=epoch, node=node, site=site, method=method, what=what, as_json=json)


app.command("simulate", rich_help_panel="Trying out")(simulate)


@app.command("plan", rich_help_panel="Trying out")
def plan(
    monitor: Monitor,
    methods: Annotated[
        str | None, typer.Option(metavar="all|a,b", help="Default: all; with --try the monitor's own.")
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="KEY=V,V", help="Values of a key, such as tolerance=10,50 or window=1d,7d."),
    ] = None,
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="First epoch that counts; default: the chain's first.")
    ] = "",
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="Where the last one ends; default: the last.")] = "",
    budget: Annotated[
        str | None, typer.Option(metavar="1MB/day", help="Find the tightest promise that fits into this.")
    ] = None,
    json: Json = False,
) -> None:
    """Replays sealed epochs under other methods, precisions and windows: what each would have sent and promised."""
    spare_pandas()
    from jobs.costing import report
    from jobs.costing.plan import plan
    from jobs.epoch.context import Context
    from jobs.looking.printing import print_json

    result = plan(Context.from_environment(), monitor, methods, tried or [], start, end, budget)
    if json:
        print_json(report.to_plain(result))
    else:
        report.show(result)


@app.command("init", rich_help_panel="Trying out")
def init(
    file: Annotated[list[Path], typer.Argument(metavar="FILE…", help="CSV, JSON lines, Parquet, or a Delta table.")],
    name: Annotated[str, typer.Option(help="Of the source; default: the file's name.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; take the likeliest guess.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
) -> None:
    """Looks at files of yours, guesses what their columns mean, and writes a source and monitors for them."""
    from jobs.command.starting import init

    raise typer.Exit(init.run(file, name, yes, force))


@app.command("check-config", rich_help_panel="Trying out")
def check_config(
    data: Annotated[bool, typer.Option("--data/--no-data", help="Also look at the sources' files.")] = True,
    json: Json = False,
) -> None:
    """All faults of all configuration files at once, each with what to do about it; then a look at the files."""
    from jobs.command import check_config

    raise typer.Exit(check_config.run(as_json=json, data=data))


@app.command("report", rich_help_panel="Looking")
def report(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the page goes; it is one file.")] = Path(
        "report.html"
    ),
    monitors: Monitors = "",
) -> None:
    """One page with every monitor's answer over time, its bounds, coverage, traffic and audit; needs no network."""
    spare_pandas()
    from jobs.looking.page import writing

    writing.run(out, [name for name in monitors.split(",") if name])


@app.command("doctor", rich_help_panel="Looking")
def doctor(json: Json = False) -> None:
    """Java, jars, packages, disks, clocks, servers, tables and chains: each line is ok, or says what to do."""
    from jobs.command import doctor

    raise typer.Exit(doctor.run(as_json=json))


@app.command("demo", rich_help_panel="Trying out")
def demo() -> None:
    """Six epochs of a made-up content network through Airflow, Spark, Delta and Great Expectations."""
    from jobs.local import demo

    demo.run()


@app.command("up", rich_help_panel="Running")
def up(demo: Annotated[bool, typer.Option("--demo", help="On the tables of the last demo.")] = False) -> None:
    """Starts Airflow with its UI, and Spark, on this machine, and leaves them running."""
    from jobs.local import up_down

    up_down.up(demo=demo)


@app.command("down", rich_help_panel="Running")
def down() -> None:
    """Stops what `up` started."""
    from jobs.local import up_down

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
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_SPARK:
            raise
        _say_error(UsageError(f"this command needs {error.name}; install it with: pip install 'farwatch[spark]'"))
        sys.exit(ExitCode.WRONG_USE)
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
        _say_error(told)
        sys.exit(told.exit_code)


def _told(error: Exception) -> FarwatchError | None:
    """What a person is told of an error of Spark's, or over a file; None where it is a fault of ours."""
    from jobs.lake.trouble import engine_trouble, trouble

    if type(error).__module__.split(".")[0] in ("pyspark", "py4j", "grpc"):
        return engine_trouble(error)
    if isinstance(error, OSError) and error.filename:
        return trouble(str(error.filename), "read or written", error)
    return None


def _say_error(error: FarwatchError) -> None:
    from jobs.terminal.console import say

    say(f"farwatch: {error}", style="bold red")


if __name__ == "__main__":
    main()
