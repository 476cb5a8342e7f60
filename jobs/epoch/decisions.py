"""What somebody has decided about rows that were set aside: admitted, or rejected for good; and who was retired."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import pyarrow as pa

from jobs.lake import Lake, column_list, new_write
from jobs.lake.conditions import RowCondition
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import DECISIONS

Ruling = Literal["admitted", "rejected", "retired"]


@dataclass(frozen=True, slots=True)
class Decision:
    """About one site's one epoch, for all monitors of the source; `retired` from that epoch on."""

    source: str
    epoch_start: int
    site: str
    verdict: Ruling
    reason: str


def decisions_of(lake: Lake, source: str, span: Iterable[RowCondition]) -> list[Decision]:
    """Those that count, of the epochs of a span: of each (site, epoch) the last."""
    return _read(lake, source, [*span, ("verdict", "in", ["admitted", "rejected"])])


def retirements_of(lake: Lake, source: str, end: int) -> list[Decision]:
    """Of each site that somebody has retired before `end`, the last time."""
    found = _read(lake, source, [("epoch_start", "<", end), ("verdict", "=", "retired")])
    return list({one.site: one for one in found}.values())


def _read(lake: Lake, source: str, conditions: Iterable[RowCondition]) -> list[Decision]:
    rows = lake.centre.read(DECISIONS, [("source", "=", source), *conditions]).sort_by("decided_at")
    columns = [column_list(rows, name) for name in ("epoch_start", "site", "verdict", "reason")]
    last = {(start, site): Decision(source, start, site, *rest) for start, site, *rest in zip(*columns, strict=True)}
    return [last[key] for key in sorted(last)]


def store_decision(lake: Lake, one: Decision) -> None:
    row = {
        "source": one.source, "epoch_start": to_datetime(one.epoch_start), "site": one.site,
        "verdict": one.verdict, "reason": one.reason, "decided_at": datetime.now(UTC), "write": new_write("decide"),
    }  # fmt: skip
    lake.append(DECISIONS, pa.Table.from_pylist([row], DECISIONS.schema))
