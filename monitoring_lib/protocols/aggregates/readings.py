"""What each object read at each tick of a site's epoch: the exact summary, and what every method's sites take in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.codec import Ints, Names
from monitoring_lib.summaries import TICK, Cell, Measure, Rows, Summary
from monitoring_lib.synopses.base import Synopsis


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class Readings(Synopsis, tag=1, version=1):
    """Object and tick to value, exact. `rows` says for each object, by name, how many rows it has, in order of ticks.

    Ticks are counted from the source's origin; values are whole numbers of the measure's step.
    """

    names: Names = field(default_factory=Names)
    rows: Ints = field(default_factory=_none)
    ticks: Ints = field(default_factory=_none)
    values: Ints = field(default_factory=_none)

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        if self.rows.shape != (len(self.names),) or (self.rows < 0).any():
            raise ValueError(f"rows: {len(self.names)} expected, one a name, found shape {self.rows.shape}")
        if not self.ticks.shape == self.values.shape == (int(self.rows.sum()),):
            raise ValueError(f"ticks and values: {int(self.rows.sum())} of each expected")

    def __len__(self) -> int:
        return len(self.ticks)

    @classmethod
    def _merged_all(cls, parts: Sequence[Readings]) -> Readings:
        objects = pa.concat_arrays(
            [part.names.column.take(pa.array(np.repeat(np.arange(len(part.names)), part.rows))) for part in parts]
        )
        ticks = np.concatenate([part.ticks for part in parts])
        values = np.concatenate([part.values for part in parts])
        order = pc.sort_indices(
            pa.table({"object": objects, "tick": ticks, "value": values}),
            sort_keys=[("object", "ascending"), ("tick", "ascending"), ("value", "ascending")],
        )
        at = order.to_numpy()
        return _grouped(objects.take(order), ticks[at], values[at])


@dataclass(frozen=True)
class ObjectReadings(Summary):
    """The reading of each object at each tick that has one."""

    reduced: Measure = Measure()  # noqa: RUF009  # it is frozen

    synopsis = Readings

    @property
    def keys(self) -> tuple[str, ...]:
        return ("object", TICK)

    @property
    def measure(self) -> Measure:
        return self.reduced

    def build(self, cell: Cell, rows: Rows) -> Readings:
        return _grouped(rows.keys["object"], np.array(rows.keys[TICK]), np.array(rows.values))


def _grouped(objects: pa.Array, ticks: Ints, values: Ints) -> Readings:
    """Of rows that are sorted by object."""
    ends = pc.run_end_encode(objects)
    rows = np.diff(ends.run_ends.to_numpy(), prepend=0).astype(np.int64)
    return Readings(Names(ends.values), rows, ticks.astype(np.int64), values.astype(np.int64))
