"""Which column is the time, the site, the item, the value; how long an epoch should be. Each guess says why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from jobs.command.starting.naming import expression_of
from jobs.command.starting.sample import Sample
from jobs.command.starting.times import Written, written
from monitoring_lib.epochs import format_duration, parse_duration

NAMES = {
    "time": ("time", "timestamp", "ts", "datetime", "date", "when", "@timestamp", "event_time", "created_at", "start"),
    "site": ("site", "host", "server", "region", "country", "origin", "station", "sensor", "mote", "vm", "router",
             "location", "city", "shop", "store", "subnet", "node", "device", "datacenter", "node_id", "machine",
             "state", "branch", "dc"),
    "item": ("item", "url", "path", "page", "query", "product", "sku", "dest", "destination", "key", "title", "object",
             "asset", "user", "uri", "name"),
    "value": ("value", "amount", "bytes", "size", "count", "quantity", "temperature", "duration", "delay", "price",
              "reading", "latency", "load", "cents", "total", "sales", "qty", "cost", "usage", "clicks"),
}  # fmt: skip
"""What columns are called, the likelier name first."""
NUMBERED = {"id", "code", "port", "year", "zip", "status", "number", "no", "lat", "lon"}
"""Numbers under such a name are names: nobody adds them up."""
NOTHING = {"na", "n/a", "nan", "null", "none", "-", "?"}
"""How files say that there is no number."""
EPOCHS = ("1m", "5m", "15m", "1h", "6h", "1d", "7d", "30d")
FEWEST_EPOCHS = 12
ALL_ROWS = "'all'"
"""The site where a file names none: a text instead of a column."""
MOST_SITES = 5_000
MOST_UNNAMED_SITES = 50
_WIDE = re.compile(r"(.*?)(\d+)$")
_CLOCK_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?")
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
FEWEST_WIDE = 8


@dataclass(frozen=True)
class Guess:
    """A column (or an expression), why it was taken, and what else it could be where that is not sure."""

    column: str
    why: str
    others: Sequence[str] = ()
    parts: Sequence[str] = ()
    """The columns that an expression is made of."""

    @property
    def is_sure(self) -> bool:
        return not self.others


@dataclass
class Guesses:
    """What a source needs to know."""

    columns: dict[str, Guess] = field(default_factory=dict)
    time: Written | None = None
    epoch: str = "1h"
    why_epoch: str = ""
    origin: int = 0
    scale: int = 1
    is_signed: bool = False
    wide: tuple[str, str] | None = None
    """The first and the last of columns each of which is a reading."""
    tick: str = ""
    """The time from one of these columns to the next."""
    spread: float = 0.0
    """The largest value less the smallest."""
    sites: int = 1


def guess(sample: Sample) -> Guesses:
    texts = {name: [text.strip() for text in column if text is not None] for name, column in sample.columns.items()}
    found = Guesses()
    _time(texts, found)
    _wide(list(texts), found)
    times = [found.columns["time"].column, *found.columns["time"].parts] if "time" in found.columns else []
    free = [name for name in texts if name not in times and not _in_wide(name, found)]
    _site(texts, free, found)
    _value(texts, [name for name in free if name != found.columns["site"].column], found)
    _item(texts, free, found)
    return found


def _rank(name: str, role: str) -> int:
    """How likely a column of this name has a role: 0 for the likeliest name."""
    plain, names = name.strip().lower(), NAMES[role]
    if plain in names:
        return names.index(plain)
    return len(names) + 1 if _words(name).isdisjoint(names) else len(names)


def _words(name: str) -> set[str]:
    """Of `latencyMs` and `latency_ms` alike: latency, ms."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", name)}


def _time(texts: Mapping[str, Sequence[str]], found: Guesses) -> None:
    fits = {name: how for name, column in texts.items() if (how := written(column)) is not None}
    # A column of small numbers is a time only if it is called so.
    fits = {n: how for n, how in fits.items() if not how.plain_number or _rank(n, "time") < len(NAMES["time"])}
    if not fits:
        return
    ranked = sorted(fits, key=lambda name: (fits[name].plain_number, _rank(name, "time"), list(texts).index(name)))
    best = ranked[0]
    rivals = [name for name in ranked[1:] if _rank(name, "time") == _rank(best, "time")]
    how = fits[best]
    why = (
        "small numbers under that name: seconds from a start of their own"
        if how.plain_number
        else "every one of them is a time"
    )
    found.columns["time"], found.time = Guess(best, why, rivals), how
    if how.format == "auto" and all(moment % parse_duration("1d") == 0 for moment in how.times):
        _time_of_day(texts, best, found)


def _time_of_day(texts: Mapping[str, Sequence[str]], date: str, found: Guesses) -> None:
    """A date in one column, the time of day in another."""
    clocks = [
        name for name, column in texts.items()
        if column and len(column) == len(texts[date]) and all(map(_CLOCK_TIME.fullmatch, column))
    ]  # fmt: skip
    if not clocks:
        return
    best, *rivals = sorted(clocks, key=lambda name: _rank(name, "time"))
    how = written([f"{day} {clock}" for day, clock in zip(texts[date], texts[best], strict=True)])
    column = f"concat({expression_of(date)}, ' ', {expression_of(best)})"
    if how is not None:
        others = [f"concat({expression_of(date)}, ' ', {expression_of(name)})" for name in rivals]
        found.columns["time"] = Guess(column, "a date, and the time of day beside it", others, [date, *clocks])
        found.time = how


def _wide(names: Sequence[str], found: Guesses) -> None:
    """Columns that are numbered through: c0, c1, …"""
    runs: dict[str, list[int]] = {}
    for name in names:
        match = _WIDE.fullmatch(name)
        if match:
            runs.setdefault(match[1], []).append(int(match[2]))
    for prefix, numbers in runs.items():
        if len(numbers) >= FEWEST_WIDE and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            found.wide = f"{prefix}{numbers[0]}", f"{prefix}{numbers[-1]}"


def _in_wide(name: str, found: Guesses) -> bool:
    match = _WIDE.fullmatch(name)
    if found.wide is None or match is None:
        return False
    first, last = (_WIDE.fullmatch(end) for end in found.wide)
    assert first is not None
    assert last is not None
    return match[1] == first[1] and int(first[2]) <= int(match[2]) <= int(last[2])


def _site(texts: Mapping[str, Sequence[str]], free: Sequence[str], found: Guesses) -> None:
    named = sorted((name for name in free if _rank(name, "site") <= len(NAMES["site"])), key=lambda n: _rank(n, "site"))
    fit = [name for name in named if 1 <= len(set(texts[name])) <= MOST_SITES]
    if not fit:
        few = [n for n in free if 2 <= len(set(texts[n])) <= MOST_UNNAMED_SITES and not _numbers(texts[n])]
        few = [n for n in few if len(set(texts[n])) < len(texts[n]) / 2 and _rank(n, "item") > len(NAMES["item"])]
        found.columns["site"] = Guess(ALL_ROWS, "no column names a place: one site for all rows", few[:5])
        return
    best = fit[0]
    rivals = [name for name in fit[1:] if _rank(name, "site") == _rank(best, "site")]
    found.sites = len(set(texts[best]))
    found.columns["site"] = Guess(best, f"{found.sites:,} different ones in the rows looked at", rivals)


def _value(texts: Mapping[str, Sequence[str]], free: Sequence[str], found: Guesses) -> None:
    if found.wide is not None:
        return
    numbers = {name: values for name in free if (values := _numbers(texts[name]))}
    named = [name for name in numbers if _rank(name, "value") <= len(NAMES["value"])]
    fractions = [n for n, values in numbers.items() if any(int(value.as_tuple().exponent) < 0 for value in values)]
    whole = [name for name in numbers if _words(name).isdisjoint(NUMBERED) and len(set(texts[name])) > 2]
    fit = sorted(named, key=lambda name: _rank(name, "value")) or fractions or whole
    fit = [name for name in fit if _rank(name, "item") > len(NAMES["item"])]
    if not fit:
        return
    best, values = fit[0], numbers[fit[0]]
    decimals = max(max(0, -int(value.as_tuple().exponent)) for value in values)
    found.scale, found.is_signed = 10 ** min(decimals, 6), min(values) < 0
    found.spread = float(max(values) - min(values))
    rivals = [name for name in fit[1:] if _rank(name, "value") == _rank(best, "value")][:5]
    lacking = len(texts[best]) - len(values)
    aside = f", {lacking:,} rows say that there is none and will go to quarantine" if lacking else ""
    found.columns["value"] = Guess(best, f"numbers from {min(values)} to {max(values)}{aside}", rivals)


def _numbers(texts: Sequence[str]) -> list[Decimal]:
    """The texts as numbers, but those that say that there is none; no numbers where one of them is something else."""
    try:
        found = [Decimal(text) for text in texts if text.lower() not in NOTHING]
    except InvalidOperation:
        return []
    return found if all(number.is_finite() for number in found) else []


def _item(texts: Mapping[str, Sequence[str]], free: Sequence[str], found: Guesses) -> None:
    taken = {found.columns[role].column for role in ("site", "value") if role in found.columns}
    rest = [name for name in free if name not in taken]
    named = sorted((name for name in rest if _rank(name, "item") <= len(NAMES["item"])), key=lambda n: _rank(n, "item"))
    if named:
        rivals = [name for name in named[1:] if _rank(name, "item") == _rank(named[0], "item")]
        found.columns["item"] = Guess(named[0], f"{len(set(texts[named[0]])):,} different ones", rivals)
        return
    words = [name for name in rest if texts[name] and not _numbers(texts[name]) and not has_commas(texts[name])]
    if words:
        best, *rivals = sorted(words, key=lambda name: -len(set(texts[name])))
        found.columns["item"] = Guess(
            best, f"the texts with most different ones, {len(set(texts[best])):,}", rivals[:5]
        )


def has_commas(texts: Sequence[str]) -> bool:
    """Whether these are numbers with a decimal comma: no source can read them."""
    return bool(texts) and all(map(_COMMA_NUMBER.fullmatch, texts))


def choose_epoch(found: Guesses, first: int, last: int) -> None:
    """The longest usual epoch, up to a day, of which the times span a dozen; never shorter than the data's own step."""
    assert found.time is not None
    times, day = sorted(set(found.time.times)), parse_duration("1d")
    lengths = [parse_duration(text) for text in EPOCHS]
    finest = min((later - earlier for earlier, later in pairwise(times)), default=lengths[0])
    usual = [length for length in lengths if length <= day and (last - first) // length >= FEWEST_EPOCHS]
    length = max([*usual, next((one for one in lengths if one >= finest), lengths[-1])])
    if found.wide is not None and all(moment % day == 0 for moment in times):
        length = day  # a row of readings is of the day that it names
    found.epoch = format_duration(length)
    found.why_epoch = f"the rows span {format_duration(_rounded(max(1, last - first)))}"
    found.origin = first // day * day
    if found.wide is not None:
        found.tick = format_duration(length // _wide_count(found.wide)) if length % _wide_count(found.wide) == 0 else ""


def _wide_count(ends: tuple[str, str]) -> int:
    first, last = (int(_WIDE.fullmatch(end)[2]) for end in ends)  # type: ignore[index]  # they were found by it
    return last - first + 1


def _rounded(span: int) -> int:
    unit = next((parse_duration(u) for u in ("1d", "1h", "1m", "1s") if span >= 2 * parse_duration(u)), 1_000_000)
    return max(unit, span // unit * unit)
