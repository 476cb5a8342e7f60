"""Whether every seal says what it said when it was sealed. Where one does not, no epoch of the source can be read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from jobs.lake import Lake, column_list
from jobs.lake.seals import from_rows
from jobs.quality.findings import Finding
from monitoring_lib.config import Source
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import EPOCHS

_AT_A_TIME = 1_000


def check_ledger(lake: Lake, source: Source) -> Iterator[Finding]:
    """A finding for each seal, of a monitor or of a landing, whose digest is not that of its content."""
    rows = lake.centre.read(EPOCHS, [("source", "=", source.name)])
    for first in range(0, rows.num_rows, _AT_A_TIME):
        part = rows.slice(first, _AT_A_TIME)
        try:
            from_rows(part)
        except DamagedTable:
            for at in range(part.num_rows):
                yield from _damaged(part.slice(at, 1))


def _damaged(row: pa.Table) -> Iterator[Finding]:
    try:
        from_rows(row)
    except DamagedTable as error:
        [start], [monitor], [revision] = (column_list(row, name) for name in ("epoch_start", "monitor", "revision"))
        yield Finding(
            start, "seals are as sealed", False, monitor=monitor, observed=f"revision {revision} differs",
            detail=f"{error}; its sites, digests or counts were changed, and nothing can be judged by it",
        )  # fmt: skip
