"""What no single key can tell: whether the parts of a source, and those of a monitor, make sense together."""

from __future__ import annotations

from collections.abc import Iterator

from monitoring_lib import expressions
from monitoring_lib.config.alerting import rule_faults
from monitoring_lib.config.monitor import Monitor
from monitoring_lib.config.source import OWN_COLUMNS, Source
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.epochs import format_duration
from monitoring_lib.methods import Question
from monitoring_lib.protocols import find_question
from monitoring_lib.suggest import nearest


def of_source(source: Source) -> Iterator[KeyFault]:
    yield from _columns_of(source)
    yield from _values_of(source)
    if source.schedule % source.epoch:
        yield no_multiple("schedule", source.schedule, source.epoch)
    if source.changed_files == "append" and source.format not in ("csv", "json"):
        yield KeyFault(("changed_files",), f"{source.format} files do not grow", "write `replace` or `refuse`")
    if source.land == "reference" and source.format not in ("parquet", "delta"):
        yield KeyFault(("land",), f"{source.format} files cannot be read where they are", "write `copy`")
    if source.epoch % source.tick:
        yield no_divisor("tick", source.epoch)
    for column in source.quality.nulls:
        if column not in source.columns:
            remedy = nearest(column, source.columns).removeprefix("; ")
            yield KeyFault(("quality", "nulls", column), "is no column of this source", remedy)
    if source.quality.ranges and "value" not in source.scales:
        yield KeyFault(("quality", "ranges", "value"), "the source has no value", "add `value: ...` to `columns`")
    if source.scale != 1 and not source.scales:
        yield KeyFault(("scale",), "the source has no value to scale", "add `value: ...` to `columns`, or drop it")
    ends = source.quality.ranges.get("value", [None, None])
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        yield KeyFault(("quality", "ranges", "value"), "the lowest lies above the highest", "turn them round")
    if source.sites is not None and len(set(source.sites)) < len(source.sites):
        yield KeyFault(("sites",), "names a site twice", "keep one of them")


def _columns_of(source: Source) -> Iterator[KeyFault]:
    if "time" not in source.columns:
        yield KeyFault(("columns", "time"), "is missing", "add `time: ...`, the column that says when")
    for name in source.columns:
        if not name or len(name) > 200:
            yield KeyFault(("columns", name), "is no name for a column", "write one of 1 to 200 characters")
    time = source.expressions.get("time")
    if source.time_format in ("seconds", "milliseconds", "microseconds") and isinstance(time, expressions.Text):
        yield KeyFault(("columns", "time"), "is the same for every row", "name a column")
    if isinstance(source.csv.header, list) and len(set(source.csv.header)) < len(source.csv.header):
        yield KeyFault(("csv", "header"), "names a column twice", "give each its own name")


def _values_of(source: Source) -> Iterator[KeyFault]:
    for name in source.values:
        if not name or len(name) > 200:
            yield KeyFault(("values", name), "is no name for a value", "write one of 1 to 200 characters")
        elif name == "value":
            yield KeyFault(("values", name), "stands in `columns`", "move it there: `columns: {value: ...}`")
        elif name in source.columns or name in OWN_COLUMNS:
            yield KeyFault(("values", name), "is a column of this source already", "give it a name of its own")
    if source.unpivot is None:
        return
    if "value" in source.columns:
        remedy = "drop it: the value of an event is that of its column"
        yield KeyFault(("columns", "value"), "cannot stand beside `unpivot`", remedy)
    position = source.unpivot.name
    if position is not None and position in (*source.columns, *source.values, *OWN_COLUMNS):
        yield KeyFault(("unpivot", "name"), "is a column of this source already", "give it a name of its own")


def has_site(source: Source) -> Iterator[KeyFault]:
    """A replayed trace may be dealt to sites; what is scheduled has to say where things happen."""
    if "site" not in source.columns:
        yield KeyFault(("columns", "site"), "is missing", "add `site: ...`; for a single site write a text: \"'all'\"")


def of_monitor(monitor: Monitor) -> Iterator[KeyFault]:
    question = find_question(monitor.question)
    yield from _window_of(monitor, question)
    yield from _alerts_of(monitor)
    if monitor.by is not None and not question.of_pairs:
        remedy = f"drop it, or make the pair the item, as `item: concat({monitor.item}, '/', {monitor.by})`"
        yield KeyFault(("by",), f"{question.name} is about items, not pairs", remedy)
    if isinstance(monitor.params, question.Params):
        for key in question.needs(monitor.params):
            if getattr(monitor, key) in (None, ""):
                yield KeyFault((key,), f"is missing, and {monitor.question} needs it", f"add `{key}: ...`")
    if monitor.method in monitor.shadow:
        yield KeyFault(("shadow",), f"shadows its own method {monitor.method!r}", "take it out of the list")
    if len(set(monitor.shadow)) < len(monitor.shadow):
        yield KeyFault(("shadow",), "names a method twice", "keep one of them")


def uses_its_options(monitor: Monitor) -> Iterator[KeyFault]:
    """A replay may choose other methods than the monitor's; what is scheduled has to use what it sets."""
    for name in monitor.options:
        if name not in monitor.methods:
            remedy = f"add it to `shadow`, or drop its options; used: {', '.join(monitor.methods)}"
            yield KeyFault(("options", name), "the monitor does not use this method", remedy)


def _alerts_of(monitor: Monitor) -> Iterator[KeyFault]:
    for at, rule in enumerate(monitor.alert):
        for problem, remedy in rule_faults(rule):
            yield KeyFault(("alert", at, "when"), problem, remedy)


def _window_of(monitor: Monitor, question: Question) -> Iterator[KeyFault]:
    can = question.windows
    if monitor.window is not None and "sliding" not in can:
        yield KeyFault(("window",), f"{question.name} has no sliding window", "write `window: growing`, or drop it")
    elif monitor.window is None and "growing" not in can and not (monitor.reset and "reset" in can):
        yield KeyFault(("window",), f"{question.name} needs a window of a length", "write how far back: `window: 1h`")
    if monitor.reset is not None and "reset" not in can:
        yield KeyFault(("reset",), f"{question.name} has no reset", "drop `reset`")
    elif monitor.reset is not None and monitor.window is not None:
        yield KeyFault(("reset",), "a sliding window forgets by itself", "drop `reset`, or write `window: growing`")


def no_multiple(key: str, duration: int, unit: int, what: str = "epochs") -> KeyFault:
    below = duration // unit * unit
    nearby = " or ".join(format_duration(choice) for choice in (below, below + unit) if choice)
    return KeyFault((key,), f"is not a whole number of {what} of {format_duration(unit)}", f"write {nearby}")


def no_divisor(key: str, epoch: int) -> KeyFault:
    remedy = "write a length that the epoch is a whole number of"
    return KeyFault((key,), f"does not divide the epoch of {format_duration(epoch)}", remedy)
