"""Keeps a comparison in its table, so that the page shows it."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from jobs.costing.plan import PlanComparison
from jobs.lake import Lake
from jobs.lake.write_ids import new_write
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import COMPARISONS


def keep_comparison(lake: Lake, result: PlanComparison) -> None:
    """A row for each variant, in the order in which they are printed."""
    span, now, write = result.span, datetime.now(UTC), new_write("plan")
    lake.append(
        COMPARISONS,
        [
            {
                "monitor": result.stored.monitor.name, "position": position, "variant": one.variant.label,
                "configured": one.variant.configured, "promise": one.variant.promise, "epochs": span.epochs,
                "first_epoch": to_datetime(span.start), "last_end": to_datetime(span.end),
                "bytes_a_day": one.bytes_a_day, "messages_a_day": span.a_day(one.cost.messages),
                "shipping_a_day": span.a_day(result.shipping), "width": _bound(one.widths.median),
                "widest": _bound(None if one.widths.unbounded else one.widths.widest),
                "advice": result.recommendation, "compared_at": now, "write": write,
            }
            for position, one in enumerate(result.outcomes)
        ],
    )  # fmt: skip


def _bound(width: float | None) -> float:
    return math.inf if width is None else width
