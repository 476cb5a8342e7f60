"""What the audit found, epoch by epoch, and the worst error of each promise beside what it allows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jobs.lake import column_list
from jobs.lake.conditions import RowCondition
from jobs.looking.page.shown import Shown
from monitoring_lib.tables import VERDICTS


def verdicts(shown: Shown) -> dict[str, Any]:
    """`at` are the audited epochs; `kept` and `of` count their verdicts.

    Only epochs as they are sealed now count, and of those that were audited again the last audit.
    """
    conditions: list[RowCondition] = [
        ("monitor", "=", shown.monitor.name), ("method", "=", shown.monitor.method),
        ("epoch_start", ">=", int(shown.starts[0])),
    ]  # fmt: skip
    columns = ["epoch_start", "revision", "promise", "error", "allowed", "kept", "confidence", "write"]
    rows = _last_audits(shown.current(shown.context.lake.centre.read(VERDICTS, conditions, columns)))
    rows = rows.set_column(rows.schema.get_field_index("kept"), "kept", rows["kept"].cast(pa.int64()))
    sums = rows.group_by("epoch_start").aggregate([("kept", "sum"), ("kept", "count")]).sort_by("epoch_start")
    return {
        "at": [shown.place[start] for start in column_list(sums, "epoch_start")],
        "kept": sums["kept_sum"].to_pylist(),
        "of": sums["kept_count"].to_pylist(),
        "promises": _by_promise(rows),
    }


def _last_audits(rows: pa.Table) -> pa.Table:
    """Of each epoch the rows of its last write: ids of writes begin with their time."""
    last = rows.group_by("epoch_start").aggregate([("write", "max")]).rename_columns(["epoch_start", "write"])
    return rows.join(last, ["epoch_start", "write"], join_type="left semi")


def _by_promise(rows: pa.Table) -> list[dict[str, Any]]:
    found = rows.group_by(["promise", "confidence"]).aggregate(
        [("kept", "sum"), ("kept", "count"), ("error", "max"), ("allowed", "max")]
    )
    names = {"kept_sum": "kept", "kept_count": "of", "error_max": "error", "allowed_max": "allowed"}
    return list(found.rename_columns(names).sort_by("promise").to_pylist())
