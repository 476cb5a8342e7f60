"""Summaries for tests: one that keeps its rows as they are, and some that are built of parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.codec import Ints
from monitoring_lib.summaries import TICK, Cell, Measure, Rows, Summary
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.synopses.fm import FM


def none() -> Any:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class KeptRows(Synopsis, tag=230, version=1):
    """Rows in the order in which they came, with the cell they are of."""

    site: str
    cell: list[int]
    texts: list[str] = field(default_factory=list)
    numbers: Ints = field(default_factory=none)
    values: Ints = field(default_factory=none)
    events: Ints = field(default_factory=none)


@dataclass(frozen=True)
class Kept(Summary):
    """The rows themselves: their order, values and types all show in the bytes."""

    names: tuple[str, ...]
    reduced: Measure = Measure()  # noqa: RUF009  # it is frozen

    synopsis = KeptRows

    @property
    def keys(self) -> tuple[str, ...]:
        return self.names

    @property
    def measure(self) -> Measure:
        return self.reduced

    def build(self, cell: Cell, rows: Rows) -> KeptRows:
        text = pa.uint64() if self.hashed else pa.string()
        kinds = {name: pa.int64() if name == TICK else text for name in self.keys}
        assert {name: column.type for name, column in rows.keys.items()} == kinds
        assert (rows.values.type, rows.events.type) == (pa.int64(), pa.int64())
        texts: list[str] = []
        numbers = []
        for column in rows.keys.values():
            if column.type == pa.string():
                texts += column.to_pylist()
            else:
                numbers.append(column.to_numpy().view(np.int64))
        return KeptRows(
            cell.site, [cell.epoch, cell.start, cell.end, cell.tick], texts,
            np.concatenate([*numbers, none()]), rows.values.to_numpy(), rows.events.to_numpy(),
        )  # fmt: skip


@dataclass(frozen=True)
class KeptHashes(Kept):
    hashed = True


@dataclass(frozen=True)
class Distinct(Summary):
    """Items as hashes, in parts: what a distinct count takes in."""

    bitmaps: int = 64

    in_parts = True
    hashed = True
    synopsis = FM

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item",)

    def build(self, cell: Cell, rows: Rows) -> FM:
        sketch = FM.of_size(self.bitmaps)
        sketch.update_hashes(rows.keys["item"].to_numpy())
        return sketch


@dataclass(frozen=True)
class SumsInParts(Summary):
    """Texts in parts; it refuses items that are longer than `longest`."""

    reduced: Measure
    longest: int = 1_000

    in_parts = True
    synopsis = Counts

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item",)

    @property
    def measure(self) -> Measure:
        return self.reduced

    def refused(self, rows: Rows) -> pa.Array | None:
        return pc.greater(pc.utf8_length(rows.keys["item"]), self.longest)

    def build(self, cell: Cell, rows: Rows) -> Counts:
        return Counts.of(rows.keys["item"], rows.values.to_numpy())


@dataclass(frozen=True)
class Failing(Summary):
    """Cannot be built for the site that it names."""

    site: str

    synopsis = Counts

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item",)

    def build(self, cell: Cell, rows: Rows) -> Counts:
        if cell.site == self.site:
            raise RuntimeError("broken on purpose")
        return Counts.of(rows.keys["item"])
