"""A simulation as a person reads it, and as a machine does."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.simulation import Cost, Outcome, Result
from jobs.wording import bounds, number, printable, size
from monitoring_lib.epochs import format_duration, format_time

MOST_ROWS = 30
LONGEST_LINE = 400


def show(result: Result) -> None:
    """Prints the report on standard output; where that is no terminal, no column is ever cut short."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=LONGEST_LINE)
    console.print(_report(result))


def _report(result: Result) -> RenderableType:
    monitor, clock = result.monitor, result.clock
    window = "growing" if monitor.window is None else f"the last {format_duration(monitor.window)}"
    if monitor.reset is not None:
        window += f", anew every {format_duration(monitor.reset)}"
    head = Text()
    head.append(f"{monitor.name}", "bold")
    head.append(f": {monitor.question} by {monitor.measure}, {window}\n")
    head.append(f"promise: {result.promise}\n")
    head.append(
        f"{result.account.counted:,} events at {result.sites:,} sites in {result.epochs:,} epochs of"
        f" {format_duration(clock.length)}, {format_time(clock.origin)} to"
        f" {format_time(clock.start_of(result.epochs))}"
    )
    parts: list[RenderableType] = [head, *_left_out(result), Text(), _costs(result), Text()]
    parts += [_verdict(outcome) for outcome in result.outcomes]
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
    for title in (
        "entries",
        "of caching",
        "of shipping",
        "messages",
        "bytes",
        "of caching",
        "of shipping",
        "rounds",
    ):
        if base is not None or title != "of caching":
            table.add_column(title, justify="right")
    lines: list[tuple[str, Cost, str]] = [
        (outcome.method, outcome.cost, str(outcome.most_rounds)) for outcome in result.outcomes
    ]
    lines.append(("(shipping every count)", result.shipping, ""))
    for name, cost, rounds in lines:
        entries = [f"{cost.entries:,}"]
        sizes = [f"{cost.messages:,}", size(cost.bytes)]
        if base is not None:
            entries.append(_ratio(cost.entries, base.cost.entries))
            sizes.append(_ratio(cost.bytes, base.cost.bytes))
        entries.append(_ratio(cost.entries, result.shipping.entries))
        sizes.append(_ratio(cost.bytes, result.shipping.bytes))
        table.add_row(name, *entries, *sizes, rounds)
    table.caption = "one entry is one value, the texts' message; a message carries what a node says in one round"
    table.caption_justify = "left"
    return table


def _verdict(outcome: Outcome) -> Text:
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
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rank", justify="right")
    for outcome in result.outcomes:
        table.add_column(outcome.method)
        table.add_column("low..high", justify="right")
    rows = max(len(outcome.answers) for outcome in result.outcomes)
    for at in range(min(rows, MOST_ROWS)):
        cells: list[Text] = []
        rank = ""
        for outcome in result.outcomes:
            answer = outcome.answers[at] if at < len(outcome.answers) else None
            rank = rank or str(answer.rank or "" if answer is not None else "")
            cells += (
                [Text(printable(answer.key)), Text(bounds(answer.low, answer.high))]
                if answer is not None
                else [Text(), Text()]
            )
        table.add_row(rank, *cells)
    parts: list[RenderableType] = [
        Text(f"answers at {format_time(result.clock.start_of(result.epochs))}"),
        table,
    ]
    if rows > MOST_ROWS:
        parts.append(Text(f"... and {rows - MOST_ROWS:,} more"))
    return parts


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
        "methods": {outcome.method: _plain_outcome(outcome, result) for outcome in result.outcomes},
        "out": None if result.out is None else str(result.out),
    }  # fmt: skip


def _plain_outcome(outcome: Outcome, result: Result) -> dict[str, Any]:
    base = result.baseline
    return {
        **vars(outcome.cost),
        "most_rounds": outcome.most_rounds,
        "entries_of_caching": _share(outcome.cost.entries, base.cost.entries if base else None),
        "bytes_of_caching": _share(outcome.cost.bytes, base.cost.bytes if base else None),
        "entries_of_shipping": _share(outcome.cost.entries, result.shipping.entries),
        "bytes_of_shipping": _share(outcome.cost.bytes, result.shipping.bytes),
        "verdicts": outcome.verdicts,
        "broken": outcome.broken,
        "worst_error": _finite(outcome.worst_error),
        "answers": [
            {
                "node": row.node, "tick": format_time(row.tick), "key": row.key, "rank": row.rank,
                "estimate": _finite(row.estimate), "low": _finite(row.low), "high": _finite(row.high),
                "confidence": row.confidence,
            }
            for row in outcome.answers
        ],
    }  # fmt: skip


def _share(value: int, base: int | None) -> float | None:
    return round(value / base, 6) if base else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
