"""Whether a monitor asks for what its source has: columns, calendar, measure, and the keys of every summary."""

from __future__ import annotations

import json
from collections.abc import Iterator

from monitoring_lib import expressions
from monitoring_lib.config.checks import no_divisor, no_multiple
from monitoring_lib.config.monitor import Monitor, MonitorKeys
from monitoring_lib.config.source import Source
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Keys, Question
from monitoring_lib.protocols import find_question, methods
from monitoring_lib.suggest import nearest
from monitoring_lib.summaries import TICK, Summary


def of_both(monitor: Monitor, source: Source) -> Iterator[KeyFault]:
    """What is wrong between a monitor and its source."""
    question = find_question(monitor.question)
    calendar = list(_calendar(monitor, source, question))
    yield from calendar
    yield from _common_keys(monitor, source)
    if not isinstance(monitor.params, question.Params) or any(
        getattr(monitor, key) in (None, "") for key in question.needs(monitor.params)
    ):
        return  # what is wrong with the question's own keys has been said
    yield from _own_keys(monitor, source, question)
    if not any(finding.path == ("tick",) for finding in calendar) and (monitor.question, monitor.method) in methods(
        monitor.question
    ):
        yield from dict.fromkeys(_question(monitor, source, question))  # several summaries may lack the same


def _calendar(monitor: Monitor, source: Source, question: Question) -> Iterator[KeyFault]:
    tick = monitor.tick or source.tick
    if source.epoch % tick:
        if monitor.tick is not None:
            yield no_divisor("tick", source.epoch)
        return
    in_ticks = question.window_in_ticks
    if monitor.window is not None and monitor.window % (tick if in_ticks else source.epoch):
        unit, what = (tick, "ticks") if in_ticks else (source.epoch, "epochs")
        yield no_multiple("window", monitor.window, unit, what)
    if monitor.reset is not None and monitor.reset % source.epoch:
        yield no_multiple("reset", monitor.reset, source.epoch)


def _common_keys(monitor: Monitor, source: Source) -> Iterator[KeyFault]:
    if monitor.item != MonitorKeys.model_fields["item"].default:  # else only where a summary needs it
        yield from _expression(("item",), monitor.item, source)
    if monitor.by is not None:
        yield from _expression(("by",), monitor.by, source)
    if monitor.where is not None:
        condition = expressions.parse_condition(monitor.where)
        for problem, remedy in expressions.faults_of(condition, source.kinds, condition=True):
            yield KeyFault(("where",), _of_source(problem, source), remedy)


def _own_keys(monitor: Monitor, source: Source, question: Question) -> Iterator[KeyFault]:
    """What the question's own keys name: expressions and measures."""
    for key, text in question.keys(monitor.params).items():
        yield from _expression(_path_to(monitor.params, text) or (key,), text, source)
    measure = monitor.measured
    if measure.column and measure.column not in source.scales:
        own = question.measure(monitor.params)
        path = ("measure",) if own is None else _path_to(monitor.params, str(own)) or ("question",)
        if measure.column == "value":
            problem, remedy = "has no value", "add `value: ...` to its `columns`, or write `measure: count`"
        else:
            problem = f"has no value {measure.column!r}"
            remedy = nearest(measure.column, source.scales).removeprefix("; ") or "add it to the source's `values`"
        yield KeyFault(path, f"the source {source.name!r} {problem}", remedy)


def _expression(path: tuple[str | int, ...], text: str, source: Source) -> Iterator[KeyFault]:
    try:
        expression = expressions.parse(text)
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        yield KeyFault(path, problem, remedy)
        return
    for problem, remedy in expressions.faults_of(expression, source.kinds):
        yield KeyFault(path, _of_source(problem, source), remedy)


def _of_source(problem: str, source: Source) -> str:
    return problem.replace("there is no column", f"the source {source.name!r} has no column", 1)


def _question(monitor: Monitor, source: Source, question: Question) -> Iterator[KeyFault]:
    """What the question and its methods find themselves, and the keys of what they take in."""
    ask = monitor.ask(source)
    faults = [KeyFault(fault.path, fault.problem, fault.remedy) for fault in question.faults(ask)]
    yield from faults
    if faults:
        return
    if question.measure(monitor.params) is not None and monitor.measure != MonitorKeys.model_fields["measure"].default:
        yield KeyFault(("measure",), f"{question.name} has a key of its own for what is measured", "drop `measure`")
    yield from _summary(("question",), question.exact(ask), monitor, source)
    for at, name in enumerate(monitor.methods):
        kind = methods(monitor.question).get((monitor.question, name))
        if kind is None or not isinstance(monitor.options[name], kind.Options):
            continue  # a fault already
        method = kind(monitor.ask(source, name))
        wrong = [KeyFault(fault.path, fault.problem, fault.remedy) for fault in method.faults()]
        yield from wrong
        if wrong:
            continue
        path: tuple[str | int, ...] = ("method",) if at == 0 else ("shadow", at - 1)
        yield from _summary(path, method.summary(), monitor, source)
        for text in method.placement():
            yield from _expression(_path_to(monitor.params, text) or path, text, source)


def _summary(path: tuple[str | int, ...], summary: Summary, monitor: Monitor, source: Source) -> Iterator[KeyFault]:
    named = monitor.key_expressions()
    for key in summary.keys:
        if key == "item" == monitor.item:
            yield from _expression(("item",), monitor.item, source)
        if key == "by" and key not in named:
            yield KeyFault(("by",), f"is missing, and {monitor.question} needs it", "add `by: ...`")
        elif key != TICK and key not in named:
            remedy = f"choose another method; named: {', '.join(named)}"
            yield KeyFault(path, f"takes in events by the key {key!r}, and nothing names it", remedy)
    measure = summary.measure
    if measure != monitor.measured and measure.column and measure.column not in source.scales:
        yield KeyFault(path, f"takes in {measure}, and the source {source.name!r} has no such value",
                      nearest(measure.column, source.scales).removeprefix("; "))  # fmt: skip


def _path_to(params: Keys, text: str) -> tuple[str, ...]:
    """The question's own key that says a text; nothing where none does."""
    for key, value in params.model_dump(mode="json").items():
        if json.dumps(text) in json.dumps(value):
            return (key,)
    return ()
