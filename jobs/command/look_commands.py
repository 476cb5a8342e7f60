"""Commands that show what is there and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobs.command.parameters import Epoch, Json, MonitorName, Monitors, SourceArgument
from jobs.looking.light import spare_pandas

app = typer.Typer()

_PANEL = "Looking"


@app.command("query", rich_help_panel=_PANEL)
def query(
    monitors: Annotated[
        list[str] | None, typer.Argument(metavar="MONITOR", help="Name of a monitor, or of several.")
    ] = None,
    epoch: Epoch = None,
    history: Annotated[int, typer.Option(metavar="N", help="Also the last N epochs.")] = 0,
    brief: Annotated[bool, typer.Option("--brief", help="Only the last epoch, nothing of its history.")] = False,
    node: Annotated[str | None, typer.Option(metavar="SITE", help="Only the view of this site, or of @node.")] = None,
    links: Annotated[bool, typer.Option("--links", help="Also what each link of the network carried.")] = False,
    point: Annotated[str | None, typer.Option(metavar="KEY", help="Ask the stored state about this key.")] = None,
    range_: Annotated[
        str | None, typer.Option("--range", metavar="3d", help="Ask the stored state about the last 3 days, say.")
    ] = None,
    ask: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Ask the stored state a query, such as 'quantiles: [0.5]'.")
    ] = None,
    sql: Annotated[
        str | None, typer.Option(metavar="SELECT", help="Any SELECT over sealed rows; try 'SHOW TABLES'.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="ROWS", help="With --sql: the most rows that it gives.")] = 10_000,
    seconds: Annotated[float, typer.Option(metavar="N", help="With --sql: the most time that it takes.")] = 60,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="With --sql: the most memory that it takes.")] = "2GiB",
    json: Json = False,
) -> None:
    """Prints a monitor's answer with its bounds, or the result of a SELECT over all that is sealed.

    Of several monitors, --json gives a list.
    """
    spare_pandas()
    from jobs.looking import query

    query.run(
        *(monitors or ()), epoch=epoch, history=history, brief=brief, sql=sql, node=node, links=links, point=point,
        range_=range_, ask=ask, limit=limit, seconds=seconds, memory=memory, as_json=json,
    )  # fmt: skip


@app.command("status", rich_help_panel=_PANEL)
def status(
    check: Annotated[
        bool, typer.Option("--check", help="Only problems, one a line; ends with 1 if there is any.")
    ] = False,
    json: Json = False,
) -> None:
    """Says how far every monitor has come, what waits, what is stale, and what was alerted."""
    spare_pandas()
    from jobs.looking import status

    raise typer.Exit(status.run(as_json=json, check=check))


@app.command("quality", rich_help_panel=_PANEL)
def quality(
    source: SourceArgument,
    epoch: Epoch = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="DIR", help="Write the results into this folder, as static pages.")
    ] = None,
    json: Json = False,
) -> None:
    """Prints what the last checks of a source's data found, by site."""
    from jobs.looking import quality

    quality.run(source, epoch=epoch, docs=docs, as_json=json)


@app.command("inspect", rich_help_panel=_PANEL)
def inspect(
    monitor: MonitorName,
    epoch: Epoch = None,
    node: Annotated[str | None, typer.Option(metavar="NODE", help="The name of a node, such as @coordinator.")] = None,
    site: Annotated[str | None, typer.Option(metavar="SITE", help="The name of a site.")] = None,
    method: Annotated[str | None, typer.Option(help="The method or a shadow; default: the method.")] = None,
    what: Annotated[str, typer.Option(metavar="messages|state|answer|seal", help="What is decoded.")] = "messages",
    json: Json = False,
) -> None:
    """Prints what the nodes of a sealed epoch sent and remember, decoded."""
    spare_pandas()
    from jobs.looking import inspecting

    inspecting.run(monitor, epoch=epoch, node=node, site=site, method=method, what=what, as_json=json)


@app.command("report", rich_help_panel=_PANEL)
def report(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the page goes; it is one file.")] = Path(
        "report.html"
    ),
    monitors: Monitors = "",
) -> None:
    """Writes a page with every monitor's answer over time, its bounds, coverage, traffic and audit. It is one file."""
    spare_pandas()
    from jobs.looking.page import writing

    writing.run(out, [name for name in monitors.split(",") if name])


@app.command("doctor", rich_help_panel=_PANEL)
def doctor(json: Json = False) -> None:
    """Checks Java, jars, packages, disks, clocks, servers, tables and chains: each line is ok, or says what to do."""
    from jobs.command import doctor

    raise typer.Exit(doctor.run(as_json=json))
