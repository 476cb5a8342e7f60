"""Whether a sealed chain still follows from what it was made of, and the command that mends it if not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jobs.looking.marks import Landed, Marks
from jobs.wording import counted
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time


@dataclass(frozen=True)
class Stale:
    """The first epoch of a chain that no longer follows from its input, and why; all after it go with it."""

    first: int
    why: str
    command: str

    @property
    def text(self) -> str:
        return f"stale from epoch {format_time(self.first)} on: {self.why}; replay it by `{self.command}`"


def stale_part(source: Source, monitor: str, marks: Marks, landed: Landed) -> Stale | None:
    """None if every seal names its parent's digest and no events have landed behind a seal's back."""
    starts = marks.starts
    late = _late(marks, landed)
    torn = _torn(marks)
    if not late and torn is None:
        return None
    first = min([*late, *([starts[torn]] if torn is not None else [])])
    if first in late:
        of = f" of {counted(len(late), 'epoch')}" if len(late) > 1 else ""
        why, reason = f"{counted(sum(late.values()), 'row')}{of} landed after the seal", "late rows"
    else:
        why, reason = "the epoch before it was revised since", "the epoch before was revised"
    end = format_time(int(starts[-1]) + source.epoch)
    command = (
        f"farwatch run --source {source.name} --from {format_time(int(first))} --to {end}"
        f" --monitors {monitor} --revise '{reason}'"
    )
    return Stale(int(first), why, command)


def _torn(marks: Marks) -> int | None:
    """The place of the first seal whose parent is not the epoch before as it is now."""
    expected = ["", *marks.column("digest")[:-1]]
    parents = marks.column("parent")
    return next((at for at, pair in enumerate(zip(parents, expected, strict=True)) if pair[0] != pair[1]), None)


def _late(marks: Marks, landed: Landed) -> dict[int, int]:
    """Rows by epoch that landings have brought since the epoch was sealed."""
    starts = marks.starts
    if not len(starts) or not len(landed.starts):
        return {}
    seen = np.asarray(marks.rows["landing"].to_numpy(), np.int64)
    at = np.minimum(np.searchsorted(starts, landed.starts), len(starts) - 1)
    is_late = (starts[at] == landed.starts) & (landed.landings > seen[at])
    rows: dict[int, int] = {}
    for start, count in zip(landed.starts[is_late].tolist(), landed.events[is_late].tolist(), strict=True):
        rows[start] = rows.get(start, 0) + count
    return rows
