"""A trace to replay: which files, how they are read, and where epoch 0 starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.input import files
from jobs.input import versions as delta_versions
from monitoring_lib import expressions
from monitoring_lib.config import Monitor, Source, check_together, parse_source
from monitoring_lib.epochs import format_duration, format_time, parse_duration, parse_time
from monitoring_lib.errors import UsageError
from monitoring_lib.protocols import find_question

SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
COMPRESSIONS = (".gz", ".xz", ".zst")


@dataclass(frozen=True)
class TraceOptions:
    """What a person says about the trace; whatever is None the monitor's source says, if there is one."""

    trace: str | None = None
    split_sites: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    epoch: str | None = None
    origin: str | None = None
    time_format: str | None = None
    scale: int | None = None


@dataclass(frozen=True)
class Trace:
    """Files with the source that says how they are read; without an origin the first event gives it."""

    paths: tuple[str, ...]
    repeats: Mapping[str, str]
    source: Source
    origin: int | None
    sites: tuple[str, ...]
    """The sites known before the first event."""
    dealt: bool
    """Whether rows are dealt to these sites, because they name none themselves."""


def open_trace(monitor: Monitor, asked: TraceOptions, known: Source | None, home: Path) -> Trace:
    """The files and how to read them; UsageError where something has to be said first."""
    split = asked.split_sites
    if split is not None and split < 1:
        raise UsageError(f"--split-sites {split}: at least 1 site is needed")
    if split is not None and "site" in asked.columns:
        raise UsageError("--split-sites makes sites up, --columns says which column has them; give one of the two")
    pattern = asked.trace or (known.path if known is not None else None)
    if pattern is None:
        raise UsageError(
            f"{monitor.name}: there is nothing to replay; name a file, a folder or a pattern: --trace FILE"
        )
    paths = [file.path for file in files.find(pattern, home)]
    if asked.trace is not None and (home / pattern).is_dir():
        paths = [path for path in paths if _format_of(path) is not None]
    if not paths:
        raise UsageError(f"--trace {pattern}: there is no such file{files.nearest_beside(home / pattern)}")
    source = _source(monitor, asked, known, paths, pattern)
    check_together(monitor, source)
    origin = source.origin if asked.origin or known is not None else None
    sites = tuple(source.sites or ()) if split is None else _dealt_names(split)
    kept, repeats = _without_repeats(paths)
    return Trace(kept, repeats, source, origin, sites, split is not None)


def _dealt_names(sites: int) -> tuple[str, ...]:
    width = max(2, len(str(sites - 1)))
    return tuple(f"site-{number:0{width}d}" for number in range(sites))


def _source(monitor: Monitor, asked: TraceOptions, known: Source | None, paths: list[str], pattern: str) -> Source:
    """How the trace is read: as a person says, else as the monitor's source does, else by plain names."""
    said = _said_by(known) if known is not None else _plain_names(monitor)
    _lay_over(said, asked, known)
    if "epoch" not in said:
        raise UsageError(
            f"{monitor.name}: the length of an epoch is not given; write --epoch, such as --epoch 10s,"
            " or let the monitor name a source of the configuration"
        )
    said |= {"name": "trace", "path": pattern, "format": _format(paths, known)}
    source = parse_source(said, "--trace")
    if known is not None:
        return source
    further = {name: f"`{name}`" for name in sorted(_named_by_summaries(monitor, source) - set(source.columns))}
    return parse_source(said | {"columns": {**further, **said["columns"]}}, "--trace") if further else source


def _lay_over(said: dict[str, Any], asked: TraceOptions, known: Source | None) -> None:
    """What a person says goes before what a source does."""
    for name, column in asked.columns.items():
        said["values" if name in said["values"] else "columns"][name] = column
    if asked.split_sites is not None:
        said["columns"].pop("site", None)
    epoch = _given("--epoch", asked.epoch, parse_duration)
    origin = _given("--origin", asked.origin, parse_time)
    reads_values = known is not None or "value" in said["columns"] or bool(said["values"])
    given = {
        "epoch": None if epoch is None else format_duration(epoch),
        "origin": None if origin is None else format_time(origin),
        "time_format": asked.time_format,
        "scale": asked.scale if reads_values else None,  # a monitor that only counts has nothing to scale
    }
    said |= {name: value for name, value in given.items() if value is not None}
    if known is not None and known.tick != known.epoch and (epoch or known.epoch) % known.tick == 0:
        said["tick"] = format_duration(known.tick)


def _said_by(known: Source) -> dict[str, Any]:
    """What matters of a source to someone who replays a trace, as its file would say it."""
    same = ("time_format", "time_zone", "repeated_hour", "sites", "scale")
    said: dict[str, Any] = {name: getattr(known, name) for name in same} | {
        "columns": dict(known.columns),
        "values": {name: value.model_dump() for name, value in known.values.items()},
        "csv": known.csv.model_dump(),
        "epoch": format_duration(known.epoch),
        "origin": format_time(known.origin),
    }
    if known.unpivot is not None:
        said["unpivot"] = known.unpivot.model_dump() | {"step": format_duration(known.step)}
    return said


def _plain_names(monitor: Monitor) -> dict[str, Any]:
    """The columns that the monitor's own keys name, each under its name in the file."""
    numbers = {monitor.measured.column} - {""}
    texts = expressions.parse(monitor.by).columns if monitor.by is not None else frozenset()
    if monitor.item != "item":
        texts |= expressions.parse(monitor.item).columns
    if monitor.where is not None:
        condition = expressions.parse_condition(monitor.where)
        numbers |= expressions.numbers_in(condition) - texts - {"site", "item"}
        texts |= condition.columns - numbers
    columns = ["time", "site", *sorted(texts - {"time", "site"}), *(numbers & {"value"})]
    return {
        "columns": {name: f"`{name}`" for name in columns},
        "values": {name: f"`{name}`" for name in sorted(numbers - {"value"})},
        "origin": format_time(0),
    }


def _named_by_summaries(monitor: Monitor, source: Source) -> set[str]:
    """The columns that the keys of the monitor's summaries and the places of its sites are made of."""
    question, ask = find_question(monitor.question), monitor.ask(source)
    if ask.epoch % ask.tick or any(question.faults(ask)):
        return set()  # the checks will say what is wrong
    chosen, shadows = monitor.method_objects(source)
    named = monitor.key_expressions()
    used = {key for summary in monitor.summaries(source) for key in summary.keys if key in named}
    texts = [named[key] for key in used] + [place for method in (chosen, *shadows) for place in method.placement()]
    return set().union(*(expressions.parse(text).columns for text in texts)) - {"site"}


def _given(option: str, text: str | None, parse: Any) -> int | None:
    try:
        return None if text is None else int(parse(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _format(paths: list[str], known: Source | None) -> str:
    formats = {path: _format_of(path) for path in paths}
    unknown = [path for path, format_ in formats.items() if format_ is None]
    if known is not None and unknown:
        return known.format
    if unknown:
        raise UsageError(
            f"{unknown[0]}: its name does not say what it holds; known: {', '.join(SUFFIXES)},"
            f" also with {', '.join(COMPRESSIONS)}"
        )
    found = sorted({str(format_) for format_ in formats.values()})
    if len(found) > 1:
        raise UsageError(f"--trace names {' and '.join(found)} files; replay one kind at a time")
    return found[0]


def _format_of(path: str) -> str | None:
    if delta_versions.parse(path) is not None:
        return "delta"
    name = Path(path).name.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return SUFFIXES.get(Path(name).suffix)


def _without_repeats(paths: list[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Each content once, as landing takes it: the path that holds it first, and which others repeat which."""
    first: dict[str, str] = {}
    repeats: dict[str, str] = {}
    for path in paths:
        kept = first.setdefault(files.digest(path), path) if len(paths) > 1 else path
        if kept != path:
            repeats[path] = kept
    return tuple(path for path in paths if path not in repeats), repeats


def column_pairs(text: str | None) -> dict[str, str]:
    """`time=at,site=host` as a mapping; commas inside brackets or quotes belong to an expression."""
    pairs: dict[str, str] = {}
    for part in _split(text or ""):
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if not (name and equals and column):
            raise UsageError(f"--columns {text!r}: {part!r} is no pair; write time=at,site=host")
        if name in pairs:
            raise UsageError(f"--columns {text!r}: {name} is named twice")
        pairs[name] = column
    return pairs


def _split(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'`":
            quote = character
        else:
            depth += (character == "(") - (character == ")")
        if character == "," and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]
