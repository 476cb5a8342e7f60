"""Exact counts by tick and item: what both questions of this family are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Ints, Names
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.synopses.base import Synopsis


@dataclass(slots=True)
class TickCounts(Synopsis, tag=60, version=1):
    """How often each item occurred in each tick, exact. Rows are sorted by tick, then by name, none twice."""

    ticks: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    names: Names = field(default_factory=Names)
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        if not self.ticks.shape == self.counts.shape == (len(self.names),):
            raise ValueError(f"ticks, counts: {len(self.names)} each expected, one a name")
        if len(self.ticks) and (self.counts.min() < 1 or (np.diff(self.ticks) < 0).any()):
            raise ValueError("ticks, counts: ticks must not fall, counts must be above 0")

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def _merged_all(cls, parts: Sequence[TickCounts]) -> TickCounts:
        table = pa.table(
            {
                "tick": np.concatenate([part.ticks for part in parts]),
                "item": pa.concat_arrays([part.names.column for part in parts]),
                "count": np.concatenate([part.counts for part in parts]),
            }
        )
        summed = table.group_by(["tick", "item"]).aggregate([("count", "sum")])
        summed = summed.sort_by([("tick", "ascending"), ("item", "ascending")]).combine_chunks()
        ticks, counts = (summed[name].to_numpy().astype(np.int64) for name in ("tick", "count_sum"))
        return cls(ticks, Names(summed["item"]), counts)


@dataclass(frozen=True)
class TickItemCounts(Summary):
    """Each item of each tick of a cell, with how many events it had."""

    synopsis = TickCounts

    @property
    def keys(self) -> tuple[str, ...]:
        return ("tick", "item")

    def build(self, cell: Cell, rows: Rows) -> TickCounts:
        ticks = np.array(rows.keys["tick"].to_numpy(zero_copy_only=False), np.int64)
        return TickCounts(ticks, Names(rows.keys["item"]), np.array(rows.values, np.int64))


def last_tick(ask: Ask, moment: Moment) -> int:
    """The number of the epoch's last tick: the window holds the ticks above ``last_tick - ask.span``."""
    return (moment.epoch + 1) * ask.ticks - 1
