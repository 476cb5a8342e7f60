"""The flow of `farwatch init`: look, guess, show, ask where it is unsure, write, check, and say what to run next."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from jobs.command import check_config
from jobs.command.starting.drafts import monitor_texts, source_text
from jobs.command.starting.guesses import Guess, Guesses, choose_epoch, guess, has_commas
from jobs.command.starting.sample import Sample, sample_of
from jobs.command.starting.span import span_of
from jobs.input import files
from jobs.looking import printing
from jobs.terminal.wording import printable
from monitoring_lib.epochs import Clock, format_time, parse_duration
from monitoring_lib.errors import ExitCode, UsageError

ROLES = {
    "time": "when it happened", "site": "where it happened", "item": "what it was about", "value": "how much it was",
}  # fmt: skip
SHOWN = 3


def run(given: Sequence[Path], name: str = "", yes: bool = False, force: bool = False) -> ExitCode:
    """Writes nothing before all is known; existing files are left alone unless `force` is given."""
    home = Path(os.environ.get("FARWATCH_HOME", ".")).absolute()
    base = home / os.environ.get("FARWATCH_CONF", "conf") / "base"
    sample = sample_of(given[0])
    pattern = pattern_of(given, home)
    found = guess(sample)
    _show(sample, found)
    _decide(found, ask=not yes and sys.stdin.isatty())
    span = span_of(files.find(pattern, home), sample, found)
    choose_epoch(found, *span)
    printing.line(f"  epoch: {found.epoch}, from {format_time(found.origin)}: {found.why_epoch}")
    name = name or _name(given[0])
    texts = {base / "sources" / f"{name}.yml": source_text(name, pattern, sample, found)}
    texts |= {base / "monitors" / f"{monitor}.yml": text for monitor, text in monitor_texts(name, found).items()}
    there = [str(path) for path in texts if path.exists()]
    if there and not force:
        raise UsageError(f"{', '.join(there)}: is there already; give another --name, or --force to write over it")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        printing.line(f"wrote {path.relative_to(home) if path.is_relative_to(home) else path}")
    code = check_config.run(only=name)
    if code == ExitCode.DONE:
        _next(name, found, span, list(monitor_texts(name, found)))
    return code


def _show(sample: Sample, found: Guesses) -> None:
    printing.line(f"{sample.path}: {sample.format}, {len(sample.columns)} columns, {sample.rows:,} rows looked at")
    for role, one in found.columns.items():
        values = [text for text in sample.columns.get(one.column, []) if text is not None][:SHOWN]
        shown = ", ".join(printable(text, 40) for text in values)
        unsure = f"; it could also be {', '.join(one.others)}" if one.others else ""
        example = f" ({shown})" if shown else ""
        printing.line(f"  {role}: {printable(one.column, 80)}{example}, {ROLES[role]}: {one.why}{unsure}")
    for name, column in sample.columns.items():
        if has_commas([text for text in column if text is not None]):
            printing.line(f"  {printable(name, 80)}: numbers with a decimal comma, which no source reads; write points")
    if found.wide is not None:
        printing.line(f"  readings: {found.wide[0]} to {found.wide[1]}, one a column")


def _decide(found: Guesses, ask: bool) -> None:
    if found.time is None:
        raise UsageError(
            "no column holds times in a form that is known; write the source's file by hand, with"
            " `columns: {time: ...}` and a `time_format`"
        )
    for role, one in found.columns.items():
        if not one.is_sure and ask:
            chosen = _choose(f"{role}, {ROLES[role]}", [one.column, *one.others])
            found.columns[role] = Guess(chosen, one.why, parts=one.parts if chosen.startswith("concat(") else ())
    if found.time.others:
        formats = [found.time.format, *found.time.others]
        if ask:
            found.time = replace(found.time, format=_choose("how times are written", formats), others=())
        else:
            printing.line(
                f"  times are read as {formats[0]}; they could also be {', '.join(formats[1:])}: set `time_format`"
            )


def _choose(what: str, choices: Sequence[str]) -> str:
    for number, choice in enumerate(choices, 1):
        printing.line(f"    {number}: {printable(choice, 80)}")
    while True:
        chosen: int = typer.prompt(f"  {what}: which one", default=1, type=int)
        if 1 <= chosen <= len(choices):
            return choices[chosen - 1]


def pattern_of(given: Sequence[Path], home: Path) -> str:
    """One file by its path, several by the narrowest pattern that matches these and no other file."""
    paths = [path.absolute() for path in given]
    folders = {path.parent for path in paths}
    if len(paths) == 1:
        return _relative(paths[0], home)
    if len(folders) > 1:
        raise UsageError("the files lie in several folders; name those of one, and widen `path` by hand")
    names = [path.name for path in paths]
    start, end = _same_start(names), _same_start([name[::-1] for name in names])[::-1]
    pattern = _relative(folders.pop() / f"{start}*{end}", home)
    fitting = {file.path for file in files.find(pattern, home)}
    if fitting != {str(path) for path in paths}:
        raise UsageError(
            f"no pattern matches just these files: {pattern} matches {len(fitting)}; move them into their own folder"
        )
    return pattern


def _same_start(names: Sequence[str]) -> str:
    shortest = min(names, key=len)
    return next((shortest[:at] for at, c in enumerate(shortest) if any(n[at] != c for n in names)), shortest)


def _relative(path: Path, home: Path) -> str:
    return str(path.relative_to(home)) if path.is_relative_to(home) else str(path)


def _name(path: Path) -> str:
    stem = path.name.partition(".")[0]
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:60]
    return name or "events"


def _next(name: str, found: Guesses, span: tuple[int, int], monitors: Sequence[str]) -> None:
    clock = Clock(found.origin, parse_duration(found.epoch))
    start, end = clock.start_of(0), clock.end_of(clock.epoch_of(span[1]))
    printing.line("")
    printing.line(f"The rows lie between {format_time(span[0])} and {format_time(span[1])}. What to run next:")
    printing.line(f"  farwatch run --source {name} --from {format_time(start)} --to {format_time(end)}")
    for monitor in monitors:
        printing.line(f"  farwatch query {monitor}")
