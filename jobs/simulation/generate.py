"""Makes a trace as files by site and hour, with the faults a real one has: for demos, tests and measurements.

Every number is drawn from the seed alone, so equal arguments give equal bytes. A site is named in file names
by its number only: its name is data.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.simulation.generate_rows import CdnRows, FlashCrowd, GeneratedRows, WalkRows, draws
from monitoring_lib.epochs import format_time, parse_duration, parse_time, to_datetime
from monitoring_lib.errors import UsageError

TraceKind = Literal["cdn", "walk"]
HOUR = parse_duration("1h")

_CITIES = (
    "ams", "arn", "atl", "bcn", "bom", "cdg", "cpt", "dfw", "dub", "dxb", "fra", "gru", "hel", "hkg", "icn",
    "jfk", "lax", "lhr", "lis", "mad", "mia", "mxp", "nrt", "ord", "prg", "scl", "sea", "sin", "syd", "waw",
)  # fmt: skip
_ODD_SITES = ('{} "south"', "{}, Zürich/№ 2", "@{}", "{}'; 東京")
_ODD_ITEMS = ('{} "final", v2', "{}/ä ö €", "{}\nsecond line", "'{}'; --")
_LONG_ITEM = 13
"""Number of the one odd item whose name takes 10 kB."""


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """One file: the hour it is of, counted from the trace's start, and which file it repeats, if any."""

    path: str
    site: str
    hour: int
    rows: int
    repeats: str | None = None


@dataclass(frozen=True, slots=True)
class Outage:
    """An hour for which a site left no file."""

    site: str
    hour: int


@dataclass(frozen=True, slots=True)
class LateRows:
    """Rows of an earlier hour that stand in a later hour's file of the same site."""

    site: str
    hour: int
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class CorruptRows:
    """Rows that no reader can make sense of, each counted once."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What is wrong with the trace, so that what a pipeline finds can be held against it."""

    outages: tuple[Outage, ...] = ()
    flash_crowds: tuple[FlashCrowd, ...] = ()
    late: tuple[LateRows, ...] = ()
    corrupt: tuple[CorruptRows, ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedTrace:
    """The files in order of arrival, and the facts behind them; `rows` leaves out repeats."""

    folder: str
    kind: TraceKind
    start: str
    sites: tuple[str, ...]
    hours: int
    rows: int
    files: tuple[GeneratedFile, ...] = field(repr=False)
    facts: Facts = field(repr=False)


def generate(
    kind: TraceKind,
    out: Path,
    *,
    seed: int = 1,
    sites: int = 30,
    hours: int = 6,
    start: str = "2026-01-01",
    events_per_hour: int = 20_000,
    items: int = 5_000,
    outages: int = 1,
    flash_crowds: int = 2,
    duplicates: int = 1,
    late: float = 0.002,
    corrupt: int = 0,
    odd_names: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> GeneratedTrace:
    """Writes a file for each site and hour, and all facts as _facts.json, into the empty or new folder `out`.

    `events_per_hour` is the mean over all sites together. `outages`, `duplicates` and `corrupt` count
    site-hours, files and rows; `late` is the share of rows that arrive with a later file. `progress` is told
    of each file.
    """
    first = _checked(kind, out, seed, sites, hours, start, events_per_hour, items, late)
    plan = _TraceFiles(
        out, first,
        [_site_name(number, odd_names) for number in range(sites)],
        _outages(seed, sites, hours, outages), late, seed,
    )  # fmt: skip
    rows: CdnRows | WalkRows
    if kind == "cdn":
        names = [_item_name(number, odd_names) for number in range(items)]
        rows = CdnRows(seed, sites, hours, first, events_per_hour, names, flash_crowds)
    else:
        rows = WalkRows(seed, sites, first, events_per_hour)
    out.mkdir(parents=True, exist_ok=True)
    trace = _write(kind, plan, rows, hours, corrupt, duplicates, progress)
    (out / "_facts.json").write_text(json.dumps(asdict(trace), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return trace


@dataclass(frozen=True)
class _TraceFiles:
    folder: Path
    first: int
    sites: Sequence[str]
    out: frozenset[tuple[int, int]]
    late: float
    seed: int

    def name(self, site: int, hour: int) -> str:
        return f"{to_datetime(self.first + hour * HOUR):%Y%m%dT%H%M}-{site:04d}.csv.gz"


def _checked(
    kind: str, out: Path, seed: int, sites: int, hours: int, start: str, events: int, items: int, late: float
) -> int:
    """The start in microseconds, once every argument makes sense."""
    if kind not in get_args(TraceKind):
        raise UsageError(f"--generate {kind!r}: choose one of {', '.join(get_args(TraceKind))}")
    counts = {"--sites": sites, "--hours": hours, "--events-per-hour": events, "--items": items}
    for option, count in counts.items():
        if count < 1:
            raise UsageError(f"{option} {count}: at least 1 is needed")
    if seed < 0:
        raise UsageError(f"--seed {seed}: a seed is a whole number of at least 0")
    if not 0 <= late < 1:
        raise UsageError(f"--late {late}: a share of at least 0 and below 1 is needed")
    try:
        first = parse_time(start)
    except ValueError as error:
        raise UsageError(f"--start: {error}") from None
    if first % HOUR:
        raise UsageError(f"--start {start}: a trace starts on the hour, such as {format_time(first - first % HOUR)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: is not an empty folder; name a new one")
    return first


def _site_name(number: int, odd: bool) -> str:
    turn, city = divmod(number, len(_CITIES))
    name = f"{_CITIES[city]}{turn + 1}"
    return _ODD_SITES[number // 5 % len(_ODD_SITES)].format(name) if odd and number % 5 == 2 else name


def _item_name(number: int, odd: bool) -> str:
    name = f"/asset/{number:06d}"
    if odd and number == _LONG_ITEM:
        return name.ljust(10_000, "x")
    return _ODD_ITEMS[number // 9 % len(_ODD_ITEMS)].format(name) if odd and number % 9 == 4 else name


def _outages(seed: int, sites: int, hours: int, count: int) -> frozenset[tuple[int, int]]:
    """Different site-hours, none in the first hour: a site that was never seen is not missed."""
    cells = sites * (hours - 1)
    chosen = draws(seed, "outages").choice(max(1, cells), min(count, cells), replace=False)
    return frozenset((cell % sites, 1 + cell // sites) for cell in chosen.tolist())


def _write(
    kind: TraceKind, plan: _TraceFiles, source: CdnRows | WalkRows, hours: int, corrupt: int, duplicates: int,
    progress: Callable[[int], None],
) -> GeneratedTrace:  # fmt: skip
    cells = [(hour, site) for hour in range(hours) for site in range(len(plan.sites))]
    cells = [(hour, site) for hour, site in cells if (site, hour) not in plan.out]
    damaged = np.bincount(draws(plan.seed, "corrupt").integers(0, len(cells), corrupt), minlength=len(cells))
    repeated = draws(plan.seed, "duplicates").choice(len(cells), min(duplicates, len(cells)), replace=False)
    last_hour = {site: hour for hour, site in cells}
    held_back: dict[int, tuple[int, GeneratedRows]] = {}
    files: list[GeneratedFile] = []
    late: list[LateRows] = []
    broken: list[CorruptRows] = []
    for at, (hour, site) in enumerate(cells):
        name, label = plan.name(site, hour), plan.sites[site]
        rows = source.rows(site, hour)
        share = plan.late if hour < last_hour[site] else 0
        delayed = draws(plan.seed, "late", site, hour).random(len(rows)) < share
        before = held_back.pop(site, None)
        if delayed.any():
            held_back[site] = (hour, rows.where(delayed))
            rows = rows.where(~delayed)
        if before is not None:
            late.append(LateRows(label, before[0], name, len(before[1])))
            rows = GeneratedRows.joined([before[1], rows])
        wrong = min(int(damaged[at]), len(rows))
        if wrong:
            broken.append(CorruptRows(name, wrong))
        _save(
            plan.folder / name,
            rows.header,
            _lines(rows, label, wrong, draws(plan.seed, "damage", site, hour)),
        )
        files.append(GeneratedFile(name, label, hour, len(rows)))
        if at in repeated:
            copy = name.replace(".csv.gz", "_again.csv.gz")
            shutil.copyfile(plan.folder / name, plan.folder / copy)
            files.append(GeneratedFile(copy, label, hour, len(rows), repeats=name))
        progress(1)
    facts = Facts(
        tuple(Outage(plan.sites[site], hour) for site, hour in sorted(plan.out)),
        source.flash_crowds, tuple(late), tuple(broken),
    )  # fmt: skip
    total = sum(file.rows for file in files if file.repeats is None)
    start = format_time(plan.first)
    return GeneratedTrace(str(plan.folder), kind, start, tuple(plan.sites), hours, total, tuple(files), facts)


def _lines(rows: GeneratedRows, site: str, wrong: int, rng: np.random.Generator) -> Any:
    """The rows as CSV text, `wrong` of them damaged, each in one of four ways."""
    times = pc.strftime(pa.array(rows.times, pa.timestamp("ms", "UTC")), "%Y-%m-%dT%H:%M:%SZ")
    columns = [times, pa.array([_quoted(site)] * len(rows)), pa.array(rows.values).cast(pa.string())]
    if rows.items is not None:
        names = pa.array([_quoted(name) for name in rows.names])
        columns.insert(2, names.take(pa.array(rows.items)))
    if wrong:
        chosen = np.sort(rng.choice(len(rows), wrong, replace=False))
        ways = rng.integers(0, 4, wrong)
        for way, (column, text) in enumerate(((0, "31/31/2026"), (1, ""), (-1, "many"), (-1, None))):
            mask = np.zeros(len(rows), bool)
            mask[chosen[ways == way]] = True
            columns[column] = pc.if_else(pa.array(mask), pa.scalar(text, pa.string()), columns[column])
    # A null leaves its field and the comma before it out: a row with too few fields.
    return pc.binary_join_element_wise(*columns, ",", null_handling="skip")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(character in text for character in '",\r\n') else text


def _save(path: Path, header: str, lines: Any) -> None:
    text = "\n".join([header, *lines.to_pylist(), ""])
    # No name and no time of writing in the archive: equal content gives equal bytes.
    with path.open("xb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        packed.write(text.encode())
