"""Commands that run epochs and look after sealed ones, and those that start and stop the servers of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.command.parameters import From, Json, Monitors, Revise, SourceArgument, SourceName, To, handover_of

app = typer.Typer()

SetAsideSite = Annotated[str, typer.Option("--site", metavar="SITE", help="The site that was set aside.")]
SetAsideEpoch = Annotated[str, typer.Option("--epoch", metavar="TIME", help="The epoch that holds this time.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the seals.")]
_PANEL = "Running"


@app.command("run", rich_help_panel=_PANEL)
def run_range(
    source: SourceName, start: From, end: To, monitors: Monitors = "", revise: Revise = "", json: Json = False
) -> None:
    """Runs all eight steps over a range of epochs, in one process."""
    from jobs.command.run import run
    from jobs.epoch.context import Context

    context = Context.from_environment()
    handover = run(context, handover_of(context, source, start, end, monitors, revise))
    if json:
        print(handover.to_json())


@app.command("backfill", rich_help_panel=_PANEL)
def backfill(
    source: SourceArgument,
    start: From,
    end: To,
    monitors: Monitors = "",
    revise: Revise = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much there is to do.")] = False,
    json: Json = False,
) -> None:
    """Runs a long range of epochs and commits them in chunks; called again, it goes on where it stopped."""
    from jobs.command.backfilling import backfill
    from jobs.epoch.context import Context

    context = Context.from_environment()
    backfill(context, handover_of(context, source, start, end, monitors, revise), dry_run, json)


@app.command("admit", rich_help_panel=_PANEL)
def admit(source: SourceArgument, site: SetAsideSite, epoch: SetAsideEpoch, reason: ReasonOption) -> None:
    """Takes in a site's epoch that was set aside: all chains are replayed from that epoch on."""
    from jobs.command.deciding import decide

    decide(source, site, epoch, reason, "admitted")


@app.command("reject", rich_help_panel=_PANEL)
def reject(source: SourceArgument, site: SetAsideSite, epoch: SetAsideEpoch, reason: ReasonOption) -> None:
    """Leaves out a site's epoch that was set aside, for good: answers that lack it keep saying so."""
    from jobs.command.deciding import decide

    decide(source, site, epoch, reason, "rejected")


@app.command("retire", rich_help_panel=_PANEL)
def retire(
    source: SourceArgument,
    site: Annotated[str, typer.Option("--site", metavar="SITE", help="A site that has gone for good.")],
    reason: ReasonOption,
) -> None:
    """Says that a site has gone for good: from the next epoch on it is no longer missing, until it has events again."""
    from jobs.command.retiring import retire

    retire(source, site, reason)


@app.command("audit", rich_help_panel=_PANEL)
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
    from jobs.command import auditing

    auditing.run(source, monitors, start, end, sample, as_json=json)


@app.command("maintain", rich_help_panel=_PANEL)
def maintain(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Whose stale chains are listed; default: all sources.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, and what it saves.")] = False,
    json: Json = False,
) -> None:
    """Keeps the tables small and quick to open; answers stay as they are. Safe beside a running epoch."""
    from jobs.command.maintaining import maintain

    maintain(source, dry_run, json)


@app.command("repair", rich_help_panel=_PANEL)
def repair(
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="Names of tables; default: all.")] = None,
) -> None:
    """Takes missing files out of the logs of damaged tables, so that the rest can be read."""
    from jobs.command import repairing

    repairing.run(tables or [])


@app.command("up", rich_help_panel=_PANEL)
def up(demo: Annotated[bool, typer.Option("--demo", help="Show the tables of the last demo.")] = False) -> None:
    """Starts Airflow with its UI, and Spark, on this machine, and leaves them running."""
    from jobs.local import up_down

    up_down.up(demo=demo)


@app.command("down", rich_help_panel=_PANEL)
def down() -> None:
    """Stops the servers that `up` has started."""
    from jobs.local import up_down

    up_down.down()
