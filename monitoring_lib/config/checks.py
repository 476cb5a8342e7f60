"""What no single key can tell: whether the parts of a source, of a monitor, and both make sense together."""

from __future__ import annotations

from collections.abc import Iterator

from monitoring_lib import expressions
from monitoring_lib.config.faults import Finding
from monitoring_lib.config.monitor import Monitor
from monitoring_lib.config.source import OWN_COLUMNS, Source
from monitoring_lib.epochs import format_duration
from monitoring_lib.suggest import nearest


def of_source(source: Source) -> Iterator[Finding]:
    yield from _columns_of(source)
    if source.schedule % source.epoch:
        yield _no_multiple("schedule", source.schedule, source.epoch)
    for column in source.quality.nulls:
        if column not in source.columns:
            remedy = nearest(column, source.columns).removeprefix("; ")
            yield Finding(("quality", "nulls", column), "is no column of this source", remedy)
    if source.quality.ranges and "value" not in source.columns:
        yield Finding(("quality", "ranges", "value"), "the source has no value", "add `value: ...` to `columns`")
    if source.scale != 1 and "value" not in source.columns:
        yield Finding(("scale",), "the source has no value to scale", "add `value: ...` to `columns`, or drop it")
    ends = source.quality.ranges.get("value", [None, None])
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        yield Finding(("quality", "ranges", "value"), "the lowest lies above the highest", "turn them round")
    if source.sites is not None and len(set(source.sites)) < len(source.sites):
        yield Finding(("sites",), "names a site twice", "keep one of them")


def _columns_of(source: Source) -> Iterator[Finding]:
    if "time" not in source.columns:
        yield Finding(("columns", "time"), "is missing", "add `time: ...`, the column that says when")
    for name in source.columns:
        if not name or len(name) > 200:
            yield Finding(("columns", name), "is no name for a column", "write one of 1 to 200 characters")
    time = source.expressions.get("time")
    if source.time_format in ("seconds", "milliseconds", "microseconds") and isinstance(time, expressions.Text):
        yield Finding(("columns", "time"), "is the same for every row", "name a column")
    if isinstance(source.csv.header, list) and len(set(source.csv.header)) < len(source.csv.header):
        yield Finding(("csv", "header"), "names a column twice", "give each its own name")


def has_site(source: Source) -> Iterator[Finding]:
    """A replayed trace may be dealt to sites; what is scheduled has to say where things happen."""
    if "site" not in source.columns:
        yield Finding(("columns", "site"), "is missing", "add `site: ...`; for a single site write a text: \"'all'\"")


def of_monitor(monitor: Monitor) -> Iterator[Finding]:
    if monitor.reset is not None and monitor.window is not None:
        yield Finding(("reset",), "a sliding window forgets by itself", "drop `reset`, or write `window: growing`")
    if monitor.method in monitor.shadow:
        yield Finding(("shadow",), f"shadows its own method {monitor.method!r}", "take it out of the list")
    if len(set(monitor.shadow)) < len(monitor.shadow):
        yield Finding(("shadow",), "names a method twice", "keep one of them")
    for name in monitor.options:
        if name not in monitor.methods:
            remedy = f"add it to `shadow`, or drop its options; used: {', '.join(monitor.methods)}"
            yield Finding(("options", name), "the monitor does not use this method", remedy)


def of_both(monitor: Monitor, source: Source) -> Iterator[Finding]:
    for key, duration in (("window", monitor.window), ("reset", monitor.reset)):
        if duration is not None and duration % source.epoch:
            yield _no_multiple(key, duration, source.epoch)
    if monitor.measure == "sum(value)" and "value" not in source.columns:
        remedy = "add `value: ...` to its `columns`, or write `measure: count`"
        yield Finding(("measure",), f"the source {source.name!r} has no value", remedy)
    for column in sorted(expressions.parse(monitor.item).columns - _texts_of(source)):
        remedy = nearest(column, _texts_of(source)).removeprefix("; ")
        yield Finding(("item",), f"the source {source.name!r} has no column {column!r} to name an item by", remedy)


def _texts_of(source: Source) -> set[str]:
    """The columns of an event that are texts: an item can be made of them."""
    return set(source.columns) - set(OWN_COLUMNS) | ({"site", "item"} & set(source.columns))


def _no_multiple(key: str, duration: int, epoch: int) -> Finding:
    below = duration // epoch * epoch
    nearby = " or ".join(format_duration(choice) for choice in (below, below + epoch) if choice)
    return Finding((key,), f"is not a whole number of epochs of {format_duration(epoch)}", f"write {nearby}")
