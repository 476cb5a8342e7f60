"""What has landed while the ledger says so no more: it is gone, or a copy without its last commits was restored."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from jobs.lake import Lake, column_list
from jobs.lake.ledger import Landing
from monitoring_lib.config import Source
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import ANSWERS, EPOCHS


def refuse_forgotten(
    lake: Lake, source: Source, monitors: Sequence[str], rows: pa.Table, journal: Sequence[Landing],
    there: Collection[str], read: Collection[str] = (),
) -> None:  # fmt: skip
    """DamagedTable if a file brought events, no landing of the journal names it, and it cannot land anew.

    `rows` are those of the source in `landings`; files that are `there`, and contents that were just `read`, land anew.
    A landing that was cut off is in no journal either, but no answer follows from it.
    """
    writes = {one.write for one in journal}
    names = ("write", "path", "digest", "landed")
    files = list(zip(*(column_list(rows, name) for name in names), strict=True))
    kept = {digest for write, _, digest, _ in files if write in writes} | set(read)
    lost = sorted(
        {path for write, path, digest, landed in files if landed and write not in writes and digest not in kept}
        - set(there)
    )
    if lost and any(_is_ahead(lake, monitor) for monitor in monitors):
        raise DamagedTable(
            f"{source.name}: the table `epochs` is damaged: answers are published that it has no seal of, and the"
            f" events of {lost[0]} have landed under none of its landings ({len(lost)} such files), which is gone."
            " Restore `epochs` from a copy, or put the files back: they land anew. To leave their events out for good,"
            " give the source and its monitors new names"
        )


def _is_ahead(lake: Lake, monitor: str) -> bool:
    """Whether answers of a monitor are published that follow its last seal; they never are before it."""
    seals = column_list(lake.centre.read(EPOCHS, [("monitor", "=", monitor)], ["epoch_start"]), "epoch_start")
    later = lake.centre.read(ANSWERS, [("monitor", "=", monitor), ("epoch_start", ">", max(seals, default=0))], ["key"])
    return bool(later.num_rows)
