"""How late a row may be: rows of sealed epochs re-open them, up to the source's horizon."""

from __future__ import annotations

import pyarrow.compute as pc

from jobs.lake import Lake, column_list
from jobs.lake.seals import LANDING
from monitoring_lib.config import Source
from monitoring_lib.tables import EPOCHS


def earliest_taken(lake: Lake, source: Source) -> int | None:
    """Where the horizon lies, counted back from the end of the last sealed epoch; None where nothing is too late."""
    if source.late.horizon is None:
        return None
    rows = lake.centre.read(EPOCHS, [("source", "=", source.name)], ["monitor", "epoch_start"])
    sealed = column_list(rows.filter(pc.not_equal(rows["monitor"], LANDING)), "epoch_start")
    return max(sealed) + source.epoch - source.late.horizon if sealed else None
