"""Since when each item has been in the answer without a break."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.lake import Lake
from jobs.lake.conditions import RowCondition
from jobs.looking.sealed import SealedEpoch
from monitoring_lib.tables import DRAFTS

StayKey = tuple[str, str]
"""Who says so, and the key."""

_FIRST_LOOK = 64


def stays(lake: Lake, epoch: SealedEpoch, wanted: Iterable[StayKey]) -> dict[StayKey, int]:
    """The first epoch of each row's present stay; looks back further and further until all of them are known."""
    known, starts = sorted(wanted), epoch.chain.starts
    first = np.full(len(known), len(starts) - 1)
    end, look = len(starts) - 1, _FIRST_LOOK
    while end > 0 and (first == end).any():
        begin = max(0, end - look)
        was_there = _was_there(lake, epoch, known, begin, end)
        for at in np.flatnonzero(first == end):
            gaps = np.flatnonzero(~was_there[:, at])
            first[at] = begin + gaps[-1] + 1 if len(gaps) else begin
        end, look = begin, 4 * look
    return {row: int(starts[at]) for row, at in zip(known, first, strict=True)}


def _was_there(lake: Lake, epoch: SealedEpoch, wanted: Sequence[StayKey], begin: int, end: int) -> NDArray[np.bool_]:
    """For the epochs of the chain from `begin` to `end`: which of the wanted rows their sealed answers had."""
    starts = epoch.chain.starts[begin:end]
    conditions: list[RowCondition] = [
        ("monitor", "=", epoch.monitor.name),
        ("epoch_start", ">=", int(starts[0])),
        ("epoch_start", "<=", int(starts[-1])),
    ]
    rows = lake.centre.read(DRAFTS, conditions, ["epoch_start", "node", "key", "write"])
    at = np.searchsorted(starts, rows["epoch_start"].cast(pa.int64()).to_numpy())
    sealed = pa.array(epoch.chain.writes("drafts")[begin:end], pa.string()).take(pa.array(at))
    which = _rows_of(rows, wanted)
    named = pc.fill_null(pc.equal(rows["write"], sealed), False).to_numpy() & (which >= 0)
    was_there = np.zeros((len(starts), len(wanted)), bool)
    was_there[at[named], which[named]] = True
    return was_there


def _rows_of(rows: pa.Table, wanted: Sequence[StayKey]) -> NDArray[np.int64]:
    """Which of the wanted rows each row is about, -1 for none."""
    nodes, keys = (list(dict.fromkeys(names)) for names in zip(*wanted, strict=True))
    number = np.full((len(nodes) + 1, len(keys) + 1), -1)  # the last ones stand for any other name
    for at, (node, key) in enumerate(wanted):
        number[nodes.index(node), keys.index(key)] = at
    return np.asarray(number[_index(rows["node"], nodes), _index(rows["key"], keys)], np.int64)


def _index(names: pa.ChunkedArray, among: Sequence[str]) -> NDArray[np.int64]:
    found = pc.index_in(names, value_set=pa.array(among, pa.string()))
    return np.asarray(pc.fill_null(found, len(among)).to_numpy(), np.int64)
