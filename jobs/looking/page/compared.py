"""The last comparison of a monitor's variants that `farwatch plan --keep` made."""

from __future__ import annotations

import math
from typing import Any

import pyarrow.compute as pc

from jobs.epoch.context import Context
from jobs.lake import column_list
from monitoring_lib.epochs import format_time
from monitoring_lib.tables import COMPARISONS

_SECOND = 1_000_000


def comparison(context: Context, monitor: str) -> dict[str, Any] | None:
    """None where nothing was kept."""
    rows = context.lake.centre.read(COMPARISONS, [("monitor", "=", monitor)])
    if not rows.num_rows:
        return None
    last = rows.filter(pc.equal(rows["compared_at"], pc.max(rows["compared_at"]))).sort_by("position")
    names = ("variant", "configured", "promise", "bytes_a_day", "messages_a_day", "width", "widest")
    one = last.slice(0, 1)
    return {
        "variants": [{name: _plain(row[name]) for name in names} for row in last.select(names).to_pylist()],
        "epochs": one["epochs"][0].as_py(),
        "from": format_time(column_list(one, "first_epoch")[0]),
        "to": format_time(column_list(one, "last_end")[0]),
        "at": format_time(column_list(one, "compared_at")[0] // _SECOND * _SECOND),
        "shipping_a_day": one["shipping_a_day"][0].as_py(),
        "advice": one["advice"][0].as_py(),
    }


def _plain(value: Any) -> Any:
    """JSON knows no infinity."""
    return "∞" if isinstance(value, float) and math.isinf(value) else value
