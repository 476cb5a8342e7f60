"""What a person looks through: alerts, failed checks, rows in quarantine, runs; the newest first, bounded."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.epoch.context import Context
from jobs.lake.conditions import RowCondition
from jobs.lake.seals import LANDING
from jobs.terminal.wording import printable
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.errors import FarwatchError
from monitoring_lib.tables import ALERTS, EPOCHS, QUARANTINE, VALIDATIONS

MOST_ROWS = 300
"""Of each list."""
_LONGEST = 300
_SECOND = 1_000_000


def alerts(context: Context) -> list[dict[str, Any]]:
    columns = ("raised_at", "state", "severity", "source", "monitor", "site", "epoch_start", "subject", "detail")
    return _newest(context.lake.centre.read(ALERTS, (), columns), "raised_at")


def findings(context: Context) -> list[dict[str, Any]]:
    """Checks of data that did not hold; the line that sums up an expectation over all sites is none."""
    columns = (
        "checked_at", "severity", "source", "monitor", "epoch_start", "step", "expectation", "site", "observed",
        "detail", "success",
    )  # fmt: skip
    rows = context.lake.centre.read(VALIDATIONS, (), columns)
    own = pc.or_(pc.not_equal(rows["site"], ""), pc.not_equal(rows["step"], "gate"))
    rows = rows.filter(pc.and_(pc.invert(rows["success"]), own)).drop_columns(["success"])
    return _newest(rows, "checked_at")


def quarantine(context: Context) -> dict[str, Any]:
    """The newest rows, and how many there are for each reason; `trouble` says why they could not be read."""
    columns = ("day", "source", "kind", "value", "reason", "site", "path", "line", "write")
    try:
        rows = context.lake.sites.read(QUARANTINE, (), columns)
    except FarwatchError as error:
        return {"rows": [], "kinds": [], "trouble": str(error)}
    rows = rows.filter(pc.is_in(rows["write"], value_set=_landed_writes(context))).drop_columns(["write"])
    kinds = Counter(zip(rows["source"].to_pylist(), rows["kind"].to_pylist(), strict=True))
    shown = [row | {"path": row["path"].rpartition("/")[2]} for row in _newest(rows, "day")]
    counts = [{"source": source, "kind": kind, "rows": count} for (source, kind), count in kinds.most_common(40)]
    return {"rows": shown, "kinds": counts, "trouble": ""}


def _landed_writes(context: Context) -> pa.Array:
    landings: list[RowCondition] = [("monitor", "=", LANDING)]
    return context.lake.centre.read(EPOCHS, landings, ["write"])["write"].unique()


def runs(context: Context) -> list[dict[str, Any]]:
    """The newest seals: which epoch of which monitor, when, how long its steps took, and why if it was done anew."""
    columns = ["sealed_at", "source", "monitor", "epoch_start", "revision", "times", "reason", "missing_sites", "run"]
    rows = context.lake.centre.read(EPOCHS, (), columns)
    rows = rows.filter(pc.not_equal(rows["monitor"], LANDING)).sort_by([("sealed_at", "descending")])
    found = []
    for row in rows.slice(0, MOST_ROWS).to_pylist():
        taken = sum(dict(row.pop("times")).values()) / 1e6
        missing = len(row.pop("missing_sites"))
        found.append(_plain(row) | {"seconds": round(taken, 1), "missing": missing})
    return found


def _newest(rows: pa.Table, by: str) -> list[dict[str, Any]]:
    return [_plain(row) for row in rows.sort_by([(by, "descending")]).slice(0, MOST_ROWS).to_pylist()]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Times as the rest of the page writes them; long texts are cut."""
    return {
        name: format_time(to_microseconds(value) // _SECOND * _SECOND) if hasattr(value, "tzinfo")
        else printable(value, _LONGEST) if isinstance(value, str)
        else str(value) if hasattr(value, "isoformat") else value
        for name, value in row.items()
    }  # fmt: skip
