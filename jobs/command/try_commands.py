"""Commands to try something out: a trace, another method, a configuration, the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobs.command.parameters import Json, MonitorName
from jobs.looking.light import spare_pandas
from jobs.simulation.command import command as simulate

app = typer.Typer()

_PANEL = "Trying out"

app.command("simulate", rich_help_panel=_PANEL)(simulate)


@app.command("plan", rich_help_panel=_PANEL)
def plan(
    monitor: MonitorName,
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
    keep: Annotated[bool, typer.Option("--keep", help="Store the result, so that the page shows it.")] = False,
    json: Json = False,
) -> None:
    """Replays sealed epochs under other methods, precisions and windows: what each would have sent and promised."""
    spare_pandas()
    from jobs.costing import report
    from jobs.costing.keeping import keep_comparison
    from jobs.costing.plan import plan
    from jobs.epoch.context import Context
    from jobs.looking.printing import print_json

    context = Context.from_environment()
    result = plan(context, monitor, methods, tried or [], start, end, budget)
    if keep:
        keep_comparison(context.lake, result)
    if json:
        print_json(report.to_plain(result))
    else:
        report.show(result)


@app.command("init", rich_help_panel=_PANEL)
def init(
    file: Annotated[list[Path], typer.Argument(metavar="FILE…", help="CSV, JSON lines, Parquet, or a Delta table.")],
    name: Annotated[str, typer.Option(help="Name of the source; default: the file's name.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; take the likeliest guess.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Looks at files of yours, guesses what their columns mean, and writes a source and monitors for them."""
    from jobs.command.starting import init

    raise typer.Exit(init.run(file, name, yes, force))


@app.command("check-config", rich_help_panel=_PANEL)
def check_config(
    data: Annotated[bool, typer.Option("--data/--no-data", help="Also look at the sources' files.")] = True,
    json: Json = False,
) -> None:
    """Names all faults of all configuration files, each with what to do about it; then looks at the sources' files."""
    from jobs.command import check_config

    raise typer.Exit(check_config.run(as_json=json, data=data))


@app.command("demo", rich_help_panel=_PANEL)
def demo() -> None:
    """Runs six epochs of a made-up content network through Airflow, Spark, Delta and Great Expectations."""
    from jobs.local import demo

    demo.run()
