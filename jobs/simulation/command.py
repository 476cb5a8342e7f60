"""`farwatch simulate`: replays a trace through a monitor's methods without Java, or makes a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from jobs.simulation.generate import GeneratedTrace
    from jobs.simulation.simulate import Result
    from monitoring_lib.config import Source

_GENERATE = "Make a trace (--generate)"


def run(
    monitor: Path,
    *,
    trace: str | None = None,
    split_sites: int | None = None,
    columns: str | None = None,
    epoch: str | None = None,
    origin: str | None = None,
    time_format: str | None = None,
    scale: int | None = None,
    methods: str | None = None,
    out: Path | None = None,
    home: Path | None = None,
    seeds: int = 1,
) -> Result:
    """What the methods of the monitor in this file would have said, cost and kept over the trace.

    Paths start at `home`, the folder one is in by default. Whatever is not said here, the monitor's source
    says, if it names one that the configuration has. FarwatchError says what was wrong.
    """
    from jobs.simulation.simulate import simulate
    from jobs.simulation.trace import TraceOptions, column_pairs
    from monitoring_lib.config import read_monitor

    asked = TraceOptions(trace, split_sites, column_pairs(columns), epoch, origin, time_format, scale)
    parsed = read_monitor(monitor)
    return simulate(parsed, asked, _known_source(parsed.source), methods, home or Path.cwd(), out, seeds)


def command(
    monitor: Annotated[Path | None, typer.Argument(metavar="MONITOR.yml", help="The monitor's file.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="File, folder or pattern; csv, json, parquet; .gz, .xz, .zst. Default: the source's files."),
    ] = None,
    split_sites: Annotated[int | None, typer.Option(help="Deal the rows to this many sites, by a stable hash.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="time=…,site=…,item=…,value=…", help="Where the columns differ from these names."),
    ] = None,
    epoch: Annotated[str | None, typer.Option(metavar="10s", help="Length of an epoch; default: the source's.")] = None,
    origin: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start of epoch 0; default: the source's, or the first event's epoch."),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(metavar="%d/%m/%Y", help="Of times that are neither ISO 8601 nor seconds since 1970."),
    ] = None,
    scale: Annotated[int | None, typer.Option(help="Values are counted as whole numbers: value times this.")] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="all|a,b", help="Default: the monitor's method and its shadows.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the tables, or for the files of --generate."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Repeat under this many seeds; judges what is promised with a probability.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
    generate: Annotated[
        str | None,
        typer.Option(
            metavar="cdn|walk",
            help="Make a trace instead, as files by site and hour.",
            rich_help_panel=_GENERATE,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal files.", rich_help_panel=_GENERATE)] = 1,
    sites: Annotated[int, typer.Option(help="Number of sites.", rich_help_panel=_GENERATE)] = 30,
    hours: Annotated[int, typer.Option(help="Number of hours.", rich_help_panel=_GENERATE)] = 6,
    start: Annotated[str, typer.Option(metavar="TIME", help="First hour.", rich_help_panel=_GENERATE)] = "2026-01-01",
    events_per_hour: Annotated[
        int, typer.Option(help="Mean number of events of all sites together.", rich_help_panel=_GENERATE)
    ] = 20_000,
    items: Annotated[int, typer.Option(help="Number of different items.", rich_help_panel=_GENERATE)] = 5_000,
    outages: Annotated[int, typer.Option(help="Hours for which a site leaves no file.", rich_help_panel=_GENERATE)] = 1,
    flash_crowds: Annotated[
        int, typer.Option(help="Items that all sites suddenly ask for.", rich_help_panel=_GENERATE)
    ] = 2,
    duplicates: Annotated[
        int, typer.Option(help="Files that come again under another name.", rich_help_panel=_GENERATE)
    ] = 1,
    late: Annotated[
        float,
        typer.Option(help="Share of rows that stand in a later hour's file.", rich_help_panel=_GENERATE),
    ] = 0.002,
    corrupt: Annotated[int, typer.Option(help="Rows that cannot be read.", rich_help_panel=_GENERATE)] = 0,
    odd_names: Annotated[
        bool,
        typer.Option("--odd-names", help="Some names with quotes, newlines, 10 kB.", rich_help_panel=_GENERATE),
    ] = False,
) -> None:
    """Replays a trace through a monitor's methods, side by side: answers, costs, whether each promise held.

    Needs neither Java nor Airflow. Ends with 1 where something promised for always was broken, or, over --seeds N,
    something promised with a probability was broken more often than it says.
    """
    from monitoring_lib.errors import PromiseBroken, UsageError

    if generate is not None:
        if monitor is not None or out is None:
            raise UsageError("--generate makes files: give it --out DIR and no monitor")
        made = _generated(
            generate, out, seed=seed, sites=sites, hours=hours, start=start, events_per_hour=events_per_hour,
            items=items, outages=outages, flash_crowds=flash_crowds, duplicates=duplicates, late=late,
            corrupt=corrupt, odd_names=odd_names,
        )  # fmt: skip
        _print_trace(made, as_json)
        return
    if monitor is None:
        raise UsageError("name a monitor's file, or make a trace with --generate cdn --out DIR")
    result = run(
        monitor, trace=trace, split_sites=split_sites, columns=columns, epoch=epoch, origin=origin,
        time_format=time_format, scale=scale, methods=methods, out=out, seeds=seeds,
    )  # fmt: skip
    _print_result(result, as_json)
    if not result.promise_kept:
        broken = [outcome.method for outcome in result.outcomes if outcome.certain_broken]
        broken += [found.method for found in result.seeded.judgements if not found.kept]
        raise PromiseBroken(
            f"{result.monitor.name}: {', '.join(dict.fromkeys(broken))} broke the promise {result.promise!r}"
        )


def _print_result(result: Result, as_json: bool) -> None:
    import json

    from jobs.simulation import report

    if as_json:
        print(json.dumps(report.to_plain(result), ensure_ascii=False))
    else:
        report.show(result)


def _generated(kind: str, out: Path, **given: object) -> GeneratedTrace:
    from typing import Any, cast

    from jobs.simulation.generate import TraceKind, generate
    from jobs.terminal.progress import progress

    with progress("files written") as work:
        return generate(cast(TraceKind, kind), out, progress=work.advance, **cast(dict[str, Any], given))


def _print_trace(trace: GeneratedTrace, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    if as_json:
        print(json.dumps(asdict(trace), ensure_ascii=False))
        return
    facts = trace.facts
    print(f"{trace.rows:,} rows of {len(trace.sites)} sites and {trace.hours} hours are in {trace.folder}")
    for outage in facts.outages:
        print(f"  outage: site {outage.site!r} has no file for hour {outage.hour}")
    for crowd in facts.flash_crowds:
        print(f"  flash crowd: {crowd.item!r}, {crowd.start} to {crowd.end}, {crowd.share:.0%} on top")
    for file in trace.files:
        if file.repeats is not None:
            print(f"  repeated: {file.path} has the content of {file.repeats}")
    print(f"  late: {sum(late.rows for late in facts.late):,} rows in {len(facts.late):,} later files")
    print(f"  corrupt: {sum(corrupt.rows for corrupt in facts.corrupt):,} rows")
    print(f"all of it is in {trace.folder}/_facts.json")


def _known_source(name: str | None) -> Source | None:
    """The monitor's source, if there is a configuration and it has one of that name."""
    from monitoring_lib.config import folder_and_environment, load

    folder, environment = folder_and_environment()
    if name is None or not folder.is_dir():
        return None
    return load(folder, environment).sources.get(name)
