"""What landings have found wrong, as it was recorded."""

from __future__ import annotations

from typing import Any

from jobs.lake import Lake
from jobs.lake.conditions import RowCondition
from monitoring_lib.config import Source
from monitoring_lib.tables import VALIDATIONS


def landing_findings(lake: Lake, source: Source) -> list[dict[str, Any]]:
    """What landings have found wrong, in order. It is all kept under the origin, so that no other files are read."""
    conditions: list[RowCondition] = [
        ("source", "=", source.name), ("step", "=", "land"), ("epoch_start", "=", source.origin),
    ]  # fmt: skip
    return list(lake.centre.read(VALIDATIONS, conditions).sort_by("checked_at").to_pylist())
