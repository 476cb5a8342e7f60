"""What every format is read into: records as columns, with the text of each at hand for when it is faulty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from jobs.input.reading.reasons import Reason, Reasons

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

    def parts(self, rows: int) -> Iterator[Chunk]:
        """The same records, at most so many at a time."""
        if len(self) <= rows:
            yield self
            return
        for at in range(0, len(self), rows):
            columns = {name: column.slice(at, rows) for name, column in self.columns.items()}
            reasons = Reasons()
            for row, reason in self.reasons.by_row.items():
                if at <= row < at + rows:
                    reasons.keep(row - at, reason)
            yield Chunk(self.lines.slice(at, rows), columns, lambda row, at=at: self.raw(at + row), reasons)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record that could not be taken apart."""

    line: int
    reason: Reason
    raw: str
