"""Since when each item has been in the answer without a break."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.context import Context
from jobs.lake import column_list
from jobs.looking.sealed import SealedEpoch
from monitoring_lib.tables import DRAFTS

Place = tuple[str, str]
"""Who says so, and the key."""

_FIRST_LOOK = 32


def stays(context: Context, epoch: SealedEpoch, places: Iterable[Place]) -> dict[Place, int]:
    """The first epoch of each place's present stay. Looks back further and further until all stays are known."""
    present, name = set(places), epoch.monitor.name
    since = dict.fromkeys(present, epoch.seal.epoch_start)
    starts = epoch.marks.starts.tolist()
    last, look = len(starts) - 1, _FIRST_LOOK
    while present and last > 0:
        first = max(0, last - look)
        there = _answers(context, epoch.source.name, name, starts[first], starts[last - 1])
        for start in reversed(starts[first:last]):
            present &= there.get(start, set())
            since.update(dict.fromkeys(present, start))
        last, look = first, 2 * look
    return since


def _answers(context: Context, source: str, monitor: str, first: int, last: int) -> dict[int, set[Place]]:
    """Who was in the answer of each of these epochs."""
    lake = context.lake
    seals = lake.ledger.seals(source, monitor, first, last + 1)
    rows = lake.sealed(DRAFTS, seals, ["drafts"], [("monitor", "=", monitor)], ["epoch_start", "node", "key"])
    there: dict[int, set[Place]] = {}
    for start, node, key in zip(
        column_list(rows, "epoch_start"), rows["node"].to_pylist(), rows["key"].to_pylist(), strict=True
    ):
        there.setdefault(start, set()).add((node, key))
    return there
