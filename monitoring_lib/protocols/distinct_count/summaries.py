"""What sites take in of an epoch: a sketch of its items, with names where items are to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.distinct_count.bits import LEVELS
from monitoring_lib.protocols.distinct_count.named_bits import NamedBits
from monitoring_lib.protocols.distinct_count.options import encoding_of, size_of
from monitoring_lib.summaries import Cell, HashBits, Rows, Summary
from monitoring_lib.synopses.cpc import Cpc
from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.hll import Hll


class _OfItems(Summary):
    @property
    def keys(self) -> tuple[str, ...]:
        return ("item",)


@dataclass(frozen=True)
class FMOfItems(_OfItems):
    """The FM sketch of a cell's items."""

    bitmaps: int
    seed: int

    in_parts = True
    hashed = True
    synopsis = FM

    @property
    def hash_bits(self) -> HashBits:
        return HashBits(self.bitmaps, LEVELS, self.seed)

    def build(self, cell: Cell, rows: Rows) -> FM:
        sketch = FM.of_size(self.bitmaps, LEVELS, self.seed)
        sketch.update_hashes(np.asarray(rows.keys["item"]))
        return sketch

    def of_bits(self, bitmaps: NDArray[np.uint64]) -> FM:
        return FM(bitmaps, LEVELS, self.seed)


@dataclass(frozen=True)
class NamedBitsOfItems(_OfItems):
    """The bits of the FM sketch of a cell's items, each with an item that sets it."""

    bitmaps: int
    seed: int

    synopsis = NamedBits

    def build(self, cell: Cell, rows: Rows) -> NamedBits:
        return NamedBits.of(rows.keys["item"], self.bitmaps, self.seed)


@dataclass(frozen=True)
class _OfHashes(_OfItems):
    """A sketch that its hashes make all at once: its image depends a little on parts."""

    size_log2: int
    seed: int

    hashed = True
    synopsis: ClassVar[type[Hll] | type[Cpc]]

    def build(self, cell: Cell, rows: Rows) -> Hll | Cpc:
        sketch = self.synopsis(self.size_log2, self.seed)
        sketch.update_hashes(np.asarray(rows.keys["item"]))
        return sketch


@dataclass(frozen=True)
class HllOfItems(_OfHashes):
    """The HLL sketch of a cell's items."""

    synopsis = Hll


@dataclass(frozen=True)
class CpcOfItems(_OfHashes):
    """The CPC sketch of a cell's items."""

    synopsis = Cpc


def summary_of(ask: Ask) -> Summary:
    options, size = ask.options, size_of(ask)
    if options.sketch == "fm":
        kind = NamedBitsOfItems if encoding_of(options) == "items" else FMOfItems
        return kind(size, options.seed)
    return (HllOfItems if options.sketch == "hll" else CpcOfItems)(size.bit_length() - 1, options.seed)
