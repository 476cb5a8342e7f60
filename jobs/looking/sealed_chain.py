"""A monitor's chain of current seals in columns: a look at years of epochs costs milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.lake import Lake
from jobs.lake.conditions import RowCondition
from jobs.lake.seals import LANDING
from monitoring_lib.tables import EPOCHS

_COLUMNS = [
    "epoch_start", "revision", "parent", "digest", "landing", "joined_sites", "writes", "counts", "config_digest",
]  # fmt: skip


@dataclass(frozen=True)
class SealedChain:
    """One row an epoch, in order: of each the last revision only."""

    rows: pa.Table
    begins: bool = True
    """Whether its first row is the first of the chain."""

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each epoch starts."""
        return _numbers(self.rows["epoch_start"].cast(pa.int64()))

    @property
    def revised(self) -> int:
        """How many epochs were sealed more than once."""
        return int(np.count_nonzero(_numbers(self.rows["revision"])))

    @property
    def sites(self) -> list[str]:
        """All sites that have joined, by name."""
        joined: pa.ChunkedArray = pc.list_flatten(self.rows["joined_sites"])
        return sorted(joined.unique().to_pylist())

    def until(self, epoch_start: int) -> SealedChain:
        """The chain up to an epoch, that one included."""
        return SealedChain(self.rows.slice(0, int(np.searchsorted(self.starts, epoch_start, side="right"))))

    def counts(self, name: str) -> NDArray[np.int64]:
        """A count of each seal, 0 where it has none of that name."""
        return _numbers(pc.fill_null(pc.map_lookup(self.rows["counts"], name, "first"), 0))

    def writes(self, output: str) -> list[str | None]:
        """The write of each epoch that holds an output."""
        return list(pc.map_lookup(self.rows["writes"], output, "first").to_pylist())

    def column(self, name: str) -> list[Any]:
        return list(self.rows[name].to_pylist())


def chain_of(lake: Lake, source: str, monitor: str, since: int | None = None) -> SealedChain:
    """All of it, or the epochs from `since` on."""
    conditions: list[RowCondition] = [("source", "=", source), ("monitor", "=", monitor), *_from(since)]
    rows = lake.centre.read(EPOCHS, conditions, _COLUMNS)
    rows = rows.sort_by([("epoch_start", "ascending"), ("revision", "ascending")])
    starts = _numbers(rows["epoch_start"].cast(pa.int64()))
    last = np.append(starts[1:] != starts[:-1], True) if len(starts) else np.zeros(0, bool)
    return SealedChain(rows.filter(pa.array(last)), since is None)


@dataclass(frozen=True)
class Landed:
    """What each landing brought to each epoch of a source; `writes` are those of all landings, also of empty ones.

    Rows that a landing put out of the count, because their file was replaced, are counted among its `events`.
    """

    starts: NDArray[np.int64]
    landings: NDArray[np.int64]
    events: NDArray[np.int64]
    writes: pa.Array
    replaces: bool = False
    """Whether any landing has put rows out of the count."""

    @property
    def first(self) -> int:
        """The first epoch that has events."""
        return int(self.starts.min()) if len(self.starts) else 0

    @property
    def last(self) -> int | None:
        """The last epoch that has events."""
        return int(self.starts.max()) if len(self.starts) else None


def landed_of(lake: Lake, source: str, since: int | None = None) -> Landed:
    """Of all epochs, or of those from `since` on."""
    conditions: list[RowCondition] = [("source", "=", source), ("monitor", "=", LANDING), *_from(since)]
    rows = lake.centre.read(EPOCHS, conditions, ["epoch_start", "revision", "counts", "write"])
    landed, gone = (
        _numbers(pc.fill_null(pc.map_lookup(rows["counts"], name, "first"), 0)) for name in ("landed", "replaced")
    )
    events = landed + gone
    brought = events > 0  # not so the entries of the journal, and files without rows
    starts = _numbers(rows["epoch_start"].cast(pa.int64()))
    numbers, writes = _numbers(rows["revision"]), rows["write"].unique()
    return Landed(starts[brought], numbers[brought], events[brought], writes, bool(gone.any()))


def _from(since: int | None) -> list[RowCondition]:
    return [] if since is None else [("epoch_start", ">=", since)]


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    return np.asarray(column.to_numpy(), np.int64)
