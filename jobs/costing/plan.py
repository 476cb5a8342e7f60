"""What each variant of a monitor would have sent and promised over its sealed epochs, and which one to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.costing.budget import Budget, tightest
from jobs.costing.replaying import Outcome, Span, cheapest, replayed
from jobs.costing.stored import Stored
from jobs.costing.variants import METHOD, Chosen, LeftOut, configured, refuse_none, wishes
from jobs.epoch.context import Context
from jobs.looking.traffic import shipped_by_epoch
from jobs.terminal.wording import size
from monitoring_lib.epochs import format_time, parse_time
from monitoring_lib.errors import NotNow, UsageError

_WORTH = 0.95
"""Another method is recommended where it sends less than this share of what the configured one does."""


@dataclass(frozen=True)
class PlanComparison:
    """The outcomes, the monitor as it is configured first; `shipping` is what sending every count would take."""

    stored: Stored
    span: Span
    outcomes: Sequence[Outcome]
    left_out: Sequence[LeftOut]
    shipping: int
    budget: Budget | None
    recommendation: str


def plan(
    context: Context, monitor: str, chosen: str | None = None, tried: Sequence[str] = (), start: str = "",
    end: str = "", budget: str | None = None,
) -> PlanComparison:  # fmt: skip
    """Replays the stored synopses of a monitor; FarwatchError says why it cannot."""
    limit = None if budget is None else Budget.parse(budget)
    stored = Stored.of(context, monitor)
    span = _span(stored, start, end)
    own, picked = configured(stored.monitor), Chosen()
    asked = wishes(stored.monitor, chosen, tried)
    if limit is not None and not tried:
        asked = [wish for wish in asked if len(wish) == 1]
    picked.take(stored, [own, *asked])
    refuse_none(picked, monitor)
    if limit is None:
        outcomes = replayed(stored, picked.variants, span)
        advice = _advice(outcomes)
    else:
        outcomes = tightest(stored, picked, limit, span)
        advice = _within(outcomes, limit)
    return PlanComparison(stored, span, outcomes, picked.left_out, _shipping(stored, span), limit, advice)


def _span(stored: Stored, start: str, end: str) -> Span:
    """Whole epochs that are sealed."""
    source, starts = stored.source, [seal.epoch_start for seal in stored.seals]
    try:
        first = parse_time(start) if start else starts[0]
        stop = parse_time(end) if end else starts[-1] + source.epoch
    except ValueError as error:
        raise UsageError(f"--from/--to: {error}") from error
    counted = [at for at in starts if first <= at and at + source.epoch <= stop]
    if not counted:
        raise NotNow(
            f"{stored.monitor.name}: no sealed epoch lies between {format_time(first)} and {format_time(stop)}; those"
            f" from {format_time(starts[0])} to {format_time(starts[-1])} are sealed"
        )
    return Span(counted[0], counted[-1] + source.epoch, len(counted))


def _shipping(stored: Stored, span: Span) -> int:
    named: set[tuple[str | None, int]] = {
        (seal.writes.get("synopses"), seal.epoch_start) for seal in stored.seals if span.holds(seal.epoch_start)
    }
    return sum(shipped_by_epoch(stored.lake, stored.source, stored.monitor, named).values())


def _advice(outcomes: Sequence[Outcome]) -> str:
    """One sentence. Only variants that promise the same, or more, are held against the configured one."""
    own = outcomes[0]
    best = cheapest([one for one in outcomes if _promises_as_much(one, own)])
    if not own.variant.configured:
        return f"{best.variant.label} would have sent least: {_a_day(best)}."
    if best.cost.bytes == own.cost.bytes and best is not own:
        return f"Choose {best.variant.label}: it promises more and would have sent no more, {_a_day(best)}."
    if best.cost.bytes >= _WORTH * own.cost.bytes:
        return f"Keep {own.variant.label}: nothing that promises as much would have sent less than its {_a_day(own)}."
    return (
        f"Choose {best.variant.label}: it promises as much and would have sent {_a_day(best)}, where"
        f" {own.variant.label} sends {_a_day(own)}."
    )


def _promises_as_much(one: Outcome, own: Outcome) -> bool:
    """Whether it answers the same question, at least as precisely: only methods, options and precision may differ."""
    key = one.variant.method.question.precision
    asked = {name for name in one.variant.wish if name not in (METHOD, key) and "." not in name}
    return not asked and (one.variant.precision or 0.0) <= (own.variant.precision or 0.0)


def _within(outcomes: Sequence[Outcome], budget: Budget) -> str:
    fitting = [one for one in outcomes if budget.fits(one)]
    if not fitting:
        least = min(outcomes, key=budget.sent)
        return (
            f"Nothing that was tried fits into {budget.text}: {least.variant.label} comes nearest, with"
            f" {budget.shown(least)}."
        )
    best = min(fitting, key=lambda one: (one.variant.precision or 0.0, budget.sent(one)))
    return (
        f"{best.variant.label} is the tightest promise that fits into {budget.text} ({best.variant.promise}):"
        f" it would have sent {budget.shown(best)}."
    )


def _a_day(one: Outcome) -> str:
    return f"{size(round(one.bytes_a_day))} a day"
