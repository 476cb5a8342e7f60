"""What sites and coordinator say of sketches.

`version` numbers what a site sends, from 1 on in a period. A reply names the version that it acknowledges: what the
coordinator holds of the site when it replies. Sliding windows have none (0), for every epoch stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitoring_lib.codec import Names
from monitoring_lib.network import Letter


@dataclass(slots=True)
class Bits(Letter, tag=1, version=1):
    """Bits of an FM sketch: `rows` holds the whole row of each of `levels`, `listed` the bits of the others.

    A listed bit is ``bitmap * LEVELS + level`` in `width` bytes, the lowest first. Entries are bits.
    """

    version: int
    levels: bytes
    rows: bytes
    listed: bytes
    width: int

    def __post_init__(self) -> None:
        if self.width not in (2, 3, 4) or len(self.listed) % self.width:
            raise ValueError(f"listed: {len(self.listed)} bytes are no bits of {self.width} bytes each")

    @property
    def entries(self) -> int:
        return int(np.bitwise_count(np.frombuffer(self.rows, np.uint8)).sum()) + len(self.listed) // self.width


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
class Items(Letter, tag=3, version=1):
    """One item for each bit that is new."""

    version: int
    names: Names

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class Count(Letter, tag=4, version=1):
    """What the coordinator counts."""

    count: float
