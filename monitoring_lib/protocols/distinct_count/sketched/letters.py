"""What sites and coordinator say of sketches.

`version` numbers what a site sends, from 1 on in a period. A reply names the version that it acknowledges: what the
coordinator holds of the site when it replies. Sliding windows have none (0), for every epoch stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitoring_lib.codec import Names
from monitoring_lib.network import Letter, NamesLetter


@dataclass(slots=True)
class Bits(Letter, tag=1, version=2):
    """Bits of an FM sketch: `rows` holds the whole row of each of `levels`, `listed` the bits of the others.

    Listed bits are gaps, as `bits.packed_by_level` makes them. Entries are bits.
    """

    version: int
    levels: bytes
    rows: bytes
    listed: bytes

    @property
    def entries(self) -> int:
        in_rows = np.bitwise_count(np.frombuffer(self.rows, np.uint8)).sum()
        return int(in_rows + (np.frombuffer(self.listed, np.uint8) < 128).sum())


@dataclass(slots=True)
class Whole(Letter, tag=2, version=1):
    """A whole sketch: the bitmaps of FM, four bytes each, or an image of DataSketches. Entries are its words."""

    version: int
    words: int
    content: bytes

    @property
    def entries(self) -> int:
        return self.words


@dataclass(slots=True)
class BitItems(NamesLetter, tag=3, version=1):
    """One item for each bit that is new."""

    version: int
    names: Names


@dataclass(slots=True)
class Count(Letter, tag=4, version=1):
    """What the coordinator counts."""

    count: float
