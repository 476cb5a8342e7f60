"""A simulation as a person reads it, and as a machine does."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.simulation.simulate import Cost, MethodOutcome, Result
from jobs.terminal.wording import bounds, number, printable, size
from monitoring_lib.answers import Answer
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.protocols import find_question

MOST_ROWS = 30
LONGEST_LINE = 400


def show(result: Result) -> None:
    """Prints the report on standard output; where that is no terminal, no column is ever cut short."""
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=LONGEST_LINE, emoji=False)
    console.print(_report(result))


def _report(result: Result) -> RenderableType:
    monitor, clock = result.monitor, result.clock
    window = "growing" if monitor.window is None else f"the last {format_duration(monitor.window)}"
    if monitor.reset is not None:
        window += f", anew every {format_duration(monitor.reset)}"
    head = Text()
    head.append(f"{monitor.name}", "bold")
    head.append(f": {monitor.question} by {monitor.measured}, {window}\n")
    head.append(f"promise: {result.promise}: {result.meaning}\n")
    head.append(
        f"{result.account.counted:,} events at {result.sites:,} sites in {result.epochs:,} epochs of"
        f" {format_duration(clock.length)}, {format_time(clock.origin)} to"
        f" {format_time(clock.start_of(result.epochs))}"
    )
    parts: list[RenderableType] = [head, *_left_out(result), Text(), _costs(result), Text()]
    parts += [_verdict(outcome) for outcome in result.outcomes]
    parts += _judgements(result)
    parts += [Text(), *_answers(result)]
    if result.out is not None:
        parts.append(Text(f"\nanswers.parquet, messages.parquet and verdicts.parquet are in {result.out}"))
    return Group(*parts)


def _left_out(result: Result) -> list[RenderableType]:
    account, notes = result.account, []
    if account.left_out:
        found = ", ".join(f"{count:,} {kind}" for kind, count in account.left_out.items())
        notes.append(f"{account.left_out.total():,} of {account.read:,} rows are left out: {found}; such as")
        notes += [f"  {printable(example, 200)}" for example in account.examples]
    for path, first in result.trace.repeats.items():
        notes.append(f"{path} is left out: the same content as {first}")
    return [Text(note, "yellow") for note in notes]


def _costs(result: Result) -> Table:
    base = result.baseline
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method")
    of_base = [f"of {base.method}"] if base is not None else []
    titles = ["entries", *of_base, "of shipping", "messages", "bytes", *of_base, "of shipping", "rounds"]
    loaded = any(outcome.loads.by_link for outcome in result.outcomes)
    for title in [*titles, *(["root load", "heaviest link"] if loaded else [])]:
        table.add_column(title, justify="right")
    lines: list[tuple[str, Cost, list[str]]] = [
        (outcome.method, outcome.cost, [str(outcome.most_rounds), *_loads(outcome)]) for outcome in result.outcomes
    ]
    lines.append(("(shipping every count)", result.shipping, []))
    for name, cost, rest in lines:
        entries = [f"{cost.entries:,}"]
        sizes = [f"{cost.messages:,}", size(cost.bytes)]
        if base is not None:
            entries.append(_ratio(cost.entries, base.cost.entries))
            sizes.append(_ratio(cost.bytes, base.cost.bytes))
        entries.append(_ratio(cost.entries, result.shipping.entries))
        sizes.append(_ratio(cost.bytes, result.shipping.bytes))
        table.add_row(name, *entries, *sizes, *rest)
    table.caption = "one entry is one value, a message of the papers; a message carries what a node says in one round"
    table.caption_justify = "left"
    return table


def _loads(outcome: MethodOutcome) -> list[str]:
    """Of a tree: entries an epoch that reach the root, and over the link that carries most."""
    loads = outcome.loads
    if loads.heaviest is None:
        return []
    return [f"{loads.root / loads.epochs:,.1f}", f"{loads.heaviest[1] / loads.epochs:,.1f}"]


def _judgements(result: Result) -> list[RenderableType]:
    """What was promised with a probability, over all seeds."""
    lines: list[RenderableType] = []
    for found in result.seeded.judgements:
        what = f"{found.method}: promised with {found.confidence:.3%}".rstrip("%").rstrip("0").rstrip(".") + " %"
        share = f"broken in {found.broken:.2f} of {found.runs:,} runs, {found.allowed:.0f} allowed"
        note = "; one run is one draw: judge it with --seeds 60" if found.runs == 1 else ""
        lines.append(Text(f"{what}: {share}{note}", "green" if found.kept else "red"))
    return lines


def _verdict(outcome: MethodOutcome) -> Text:
    if not outcome.broken:
        return Text(f"{outcome.method}: all {outcome.verdicts:,} verdicts kept", "green")
    text = f"{outcome.method}: {outcome.broken:,} of {outcome.verdicts:,} verdicts broken"
    if outcome.first_broken is not None:
        start, verdict = outcome.first_broken
        of = f" of {printable(verdict.key)}" if verdict.key else ""
        text += (
            f", first in epoch {format_time(start)}: {verdict.promise}{of}, exact {number(verdict.exact)},"
            f" error {number(verdict.error)}, allowed {number(verdict.allowed)}"
        )
    return Text(text, "red")


def _answers(result: Result) -> list[RenderableType]:
    """The last epoch's answers of all methods, row by row beside each other."""
    if not result.epochs:
        return [Text("there is no event to answer about")]
    shape = find_question(result.monitor.question).shape
    table = Table(box=None, pad_edge=False, header_style="bold")
    first = {"ranking": "rank", "series": "tick", "views": "rank"}.get(shape)
    if first is not None:
        table.add_column(first, justify="right")
    for outcome in result.outcomes:
        table.add_column(outcome.method)
        table.add_column("estimate", justify="right")
        table.add_column("low..high", justify="right")
    columns = [_shown(outcome, shape)[:MOST_ROWS] for outcome in result.outcomes]
    for at in range(max(map(len, columns))):
        rows = [column[at] if at < len(column) else None for column in columns]
        known = next(row for row in rows if row is not None)
        lead = {"rank": str(known.rank or ""), "tick": format_time(known.tick)}
        cells = [Text(lead[first])] if first is not None else []
        for row in rows:
            cells += [Text()] * 3 if row is None else [Text(text) for text in _cells(row)]
        table.add_row(*cells)
    parts: list[RenderableType] = [
        Text(f"answers at {format_time(result.clock.start_of(result.epochs))}"),
        table,
    ]
    if shape == "views":
        parts += [Text(_agreement(outcome)) for outcome in result.outcomes]
    most = max(len(_shown(outcome, shape)) for outcome in result.outcomes)
    if most > MOST_ROWS:
        parts.append(Text(f"... and {most - MOST_ROWS:,} more"))
    return parts


def _views(outcome: MethodOutcome) -> dict[str, list[Answer]]:
    """What each node publishes."""
    views: dict[str, list[Answer]] = {}
    for row in outcome.answers:
        views.setdefault(row.node, []).append(row)
    return views


def _content(view: list[Answer]) -> tuple[Any, ...]:
    return tuple((row.tick, row.key, row.rank, row.estimate, row.low, row.high) for row in view)


def _shown(outcome: MethodOutcome, shape: str) -> list[Answer]:
    """The rows; of views by node the one that most nodes hold."""
    if shape != "views":
        return list(outcome.answers)
    views = sorted(_views(outcome).items())
    common = Counter(_content(view) for _, view in views).most_common(1)
    return next((view for _, view in views if _content(view) == common[0][0]), [])


def _agreement(outcome: MethodOutcome) -> str:
    views = _views(outcome)
    shown = _content(_shown(outcome, "views"))
    agreeing = sum(_content(view) == shown for view in views.values())
    return f"{outcome.method}: {agreeing:,} of {len(views):,} sites hold this view"


def _cells(row: Answer) -> tuple[str, str, str]:
    note = " (partial)" if row.partial else ""
    return printable(row.key) + note, number(row.estimate), bounds(row.low, row.high)


def _ratio(value: int, base: int) -> str:
    return f"{value / base:.3f}" if base else "-"


def to_plain(result: Result) -> dict[str, Any]:
    """The whole result in JSON's types; an endless bound is null."""
    account, clock = result.account, result.clock
    return {
        "monitor": result.monitor.name,
        "question": result.monitor.question,
        "promise": result.promise,
        "promise_kept": result.promise_kept,
        "epoch": format_duration(clock.length),
        "origin": format_time(clock.origin),
        "epochs": result.epochs,
        "sites": result.sites,
        "rows": {
            "read": account.read, "counted": account.counted, "left_out": dict(account.left_out),
            "examples": account.examples,
        },
        "files": {"read": list(result.trace.paths), "same_content": dict(result.trace.repeats)},
        "shipping_every_count": vars(result.shipping),
        "baseline": result.baseline.method if result.baseline else None,
        "seeds": [
            {
                "method": found.method, "confidence": found.confidence, "runs": found.runs, "broken": found.broken,
                "allowed": found.allowed, "kept": found.kept,
            }
            for found in result.seeded.judgements
        ],
        "methods": {outcome.method: _plain_outcome(outcome, result) for outcome in result.outcomes},
        "out": None if result.out is None else str(result.out),
    }  # fmt: skip


def _plain_outcome(outcome: MethodOutcome, result: Result) -> dict[str, Any]:
    base = result.baseline
    return {
        **vars(outcome.cost),
        "most_rounds": outcome.most_rounds,
        "entries_of_baseline": _share(outcome.cost.entries, base.cost.entries if base else None),
        "bytes_of_baseline": _share(outcome.cost.bytes, base.cost.bytes if base else None),
        "entries_of_shipping": _share(outcome.cost.entries, result.shipping.entries),
        "bytes_of_shipping": _share(outcome.cost.bytes, result.shipping.bytes),
        "verdicts": outcome.verdicts,
        "broken": outcome.broken,
        "certain_broken": outcome.certain_broken,
        "worst_error": _finite(outcome.worst_error),
        "loads": _plain_loads(outcome),
        "answers": [
            {
                "node": row.node, "tick": format_time(row.tick), "key": row.key, "rank": row.rank,
                "estimate": _finite(row.estimate), "low": _finite(row.low), "high": _finite(row.high),
                "confidence": row.confidence, "partial": row.partial,
            }
            for row in outcome.answers
        ],
    }  # fmt: skip


def _plain_loads(outcome: MethodOutcome) -> dict[str, Any] | None:
    """Entries over all epochs, of a tree."""
    heaviest = outcome.loads.heaviest
    if heaviest is None:
        return None
    (lower, upper), load = heaviest
    return {
        "root": outcome.loads.root, "total": outcome.loads.total, "epochs": outcome.loads.epochs,
        "heaviest": {"from": lower, "to": upper, "entries": load},
    }  # fmt: skip


def _share(value: int, base: int | None) -> float | None:
    return round(value / base, 6) if base else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
