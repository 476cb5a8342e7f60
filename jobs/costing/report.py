"""A plan as a person reads it, and as a machine does."""

from __future__ import annotations

from typing import Any

from jobs.costing.plan import PlanComparison
from jobs.costing.replaying import Outcome
from jobs.looking import printing
from jobs.terminal.wording import counted, number, size
from monitoring_lib.epochs import format_time


def show(result: PlanComparison) -> None:
    span, stored = result.span, result.stored
    printing.line(
        f"{stored.monitor.name}: {counted(span.epochs, 'sealed epoch')}, {format_time(span.start)} to"
        f" {format_time(span.end)}, {counted(len(stored.members), 'site')}; shipping every count takes"
        f" {size(round(span.a_day(result.shipping)))} a day"
    )
    columns = ["variant", "promise", "bytes a day", "entries a day", "messages a day", "rows", "width", "widest"]
    if result.budget is not None:
        columns.append("fits")
    table = printing.table(*columns, right=columns[2:8])
    for outcome in result.outcomes:
        table.add_row(*_cells(result, outcome), style="bold" if outcome.variant.configured else "")
    printing.show(table)
    printing.line(
        "rows: of an epoch's answer, mean; width, widest: how far apart low and high of a row are, median and most"
    )
    for left in result.left_out:
        printing.line(f"left out: {left.label}: {left.why}", "yellow")
    printing.line(result.recommendation, "bold")


def to_plain(result: PlanComparison) -> dict[str, Any]:
    span, stored = result.span, result.stored
    return {
        "monitor": stored.monitor.name, "from": format_time(span.start), "to": format_time(span.end),
        "epochs": span.epochs, "sites": len(stored.members), "shipping_bytes": result.shipping,
        "budget": None if result.budget is None else result.budget.text,
        "variants": [_plain(result, outcome) for outcome in result.outcomes],
        "left_out": [{"variant": left.label, "why": left.why} for left in result.left_out],
        "recommendation": result.recommendation,
    }  # fmt: skip


def _cells(result: PlanComparison, outcome: Outcome) -> list[str]:
    span, cost, widths = outcome.span, outcome.cost, outcome.widths
    median, widest = ("" if one is None else number(one) for one in (widths.median, widths.widest))
    cells = [
        f"{outcome.variant.label} (configured)" if outcome.variant.configured else outcome.variant.label,
        outcome.variant.promise,
        size(round(outcome.bytes_a_day)),
        *(number(round(span.a_day(count), 1)) for count in (cost.entries, cost.messages)),
        number(round(widths.rows / span.epochs, 1)),
        median,
        number(float("inf")) if widths.unbounded else widest,
    ]
    return cells if result.budget is None else [*cells, "yes" if result.budget.fits(outcome) else "no"]


def _plain(result: PlanComparison, outcome: Outcome) -> dict[str, Any]:
    span, cost, widths, variant = outcome.span, outcome.cost, outcome.widths, outcome.variant
    fits = {} if result.budget is None else {"fits": result.budget.fits(outcome)}
    return {
        "variant": variant.label, "changes": dict(variant.wish), "configured": variant.configured,
        "promise": variant.promise, "bytes": cost.bytes, "entries": cost.entries, "messages": cost.messages,
        "bytes_a_day": span.a_day(cost.bytes), "entries_a_day": span.a_day(cost.entries),
        "messages_a_day": span.a_day(cost.messages), "rows": widths.rows,
        "width": {"median": widths.median, "widest": widths.widest, "unbounded_rows": widths.unbounded}, **fits,
    }  # fmt: skip
