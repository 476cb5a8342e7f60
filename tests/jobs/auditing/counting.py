"""The events of an audit, grouped in this process as Spark would group them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

from jobs.auditing.exact import ExactQuery
from jobs.auditing.scope import AuditScope
from jobs.lake import Lake
from monitoring_lib.tables import EVENTS


@contextmanager
def counted_here() -> Iterator[None]:
    """Nothing but the landed events is counted."""

    def landed_rows(lake: Lake, source: str, landing: int, start: int, end: int) -> pa.Table:
        writes = [seal.write for seal in lake.ledger.landed(source, start, end) if seal.revision <= landing]
        rows = lake.sites.read(
            EVENTS, [("source", "=", source), ("epoch_start", ">=", start), ("epoch_start", "<", end)]
        )
        rows = rows.filter(pc.is_in(rows["write"], pa.array(writes, pa.string())))
        return rows.set_column(
            rows.schema.get_field_index("epoch_start"), "epoch_start", rows["epoch_start"].cast(pa.int64())
        )

    def frame(query: ExactQuery, lake: Lake, landing: int, start: int, end: int) -> Any:
        found = landed_rows(lake, query.source.name, landing, start, end)
        rows = found.append_column("key0", found["item"])
        counted = rows.group_by(["epoch_start", "site", "key0"]).aggregate([([], "count_all")])
        return SimpleNamespace(toArrow=lambda: counted.rename_columns(["epoch_start", "site", "key0", "events"]))

    def cells(lake: Lake, scope: AuditScope, start: int, end: int) -> pa.Table:
        rows = landed_rows(lake, scope.source.name, scope.landing, start, end)
        counted = rows.group_by(["epoch_start", "site", "write"]).aggregate([([], "count_all")])
        return counted.rename_columns(["epoch_start", "site", "write", "events"])

    with patch.object(ExactQuery, "frame", frame), patch("jobs.auditing.landed._counted", cells):
        yield
