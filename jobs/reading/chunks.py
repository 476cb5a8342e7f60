"""What every format is read into: records as columns, with the text of each at hand for when it is faulty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from jobs.reading.reasons import Reasons

LONGEST_RAW = 10_000


@dataclass
class Chunk:
    """Records that follow each other. `lines` are their numbers, from 1; `raw` gives the text of one of them.

    `columns` are in the types that the file has. Rows that already have a reason hold nulls.
    """

    lines: pa.Array
    columns: Mapping[str, pa.Array]
    raw: Callable[[int], str]
    reasons: Reasons = field(default_factory=Reasons)

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that could not be taken apart."""

    line: int
    reason: str
    raw: str
