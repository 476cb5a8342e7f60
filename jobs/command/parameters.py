"""Parameters that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from monitoring_lib.errors import UsageError

if TYPE_CHECKING:
    from jobs.epoch.context import Context
    from jobs.epoch.handover import Handover

SourceName = Annotated[str, typer.Option("--source", help="Name of a source in conf.")]
From = Annotated[str, typer.Option("--from", metavar="TIME", help="First epoch's start, ISO 8601, UTC.")]
To = Annotated[str, typer.Option("--to", metavar="TIME", help="Where the last epoch ends; not part of the range.")]
Monitors = Annotated[str, typer.Option("--monitors", metavar="a,b", help="Only these monitors.")]
Revise = Annotated[
    str, typer.Option("--revise", metavar="REASON", help="Why sealed epochs are run again and corrected.")
]
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="Name of a source in conf.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
MonitorName = Annotated[str, typer.Argument(metavar="MONITOR", help="Name of a monitor in conf.")]
Epoch = Annotated[
    str | None,
    typer.Option("--epoch", metavar="TIME", help="The epoch that holds this time; default: the last sealed."),
]


def handover_of(context: Context, source: str, start: str, end: str, monitors: str, revise: str) -> Handover:
    """The range that --source, --from, --to, --monitors and --revise ask for, before its first step."""
    from jobs.epoch.handover import Handover
    from monitoring_lib.epochs import parse_time

    try:
        interval = parse_time(start), parse_time(end)
    except ValueError as error:
        raise UsageError(f"--from/--to: {error}") from error
    only = [name for name in monitors.split(",") if name]
    return Handover.begin(source, context.config.source(source).clock, *interval, only, revise)
