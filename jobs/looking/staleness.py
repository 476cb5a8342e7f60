"""Whether a sealed chain still follows from what it was made of, and the command that mends it if not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jobs.epoch.replaying import REVISED, replay_command
from jobs.looking.sealed_chain import Landed, SealedChain
from jobs.terminal.wording import counted
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


def stale_part(
    source: Source, monitor: str, chain: SealedChain, landed: Landed, counts_from: int
) -> Stale | None:  # fmt: skip
    """None if every seal names its parent's digest and no events have landed behind a seal's back.

    For the monitor, events count that happened at `counts_from` or later. Of a part of the chain, its first seal is
    taken as it is.
    """
    starts = chain.starts
    late = _late(chain, landed, counts_from)
    torn = _torn(chain)
    if not late and torn is None:
        return None
    first = min([*late, *([starts[torn]] if torn is not None else [])])
    if first in late:
        of = f" of {counted(len(late), 'epoch')}" if len(late) > 1 else ""
        came = "landed or went" if landed.replaces else "landed"
        why, reason = f"{counted(sum(late.values()), 'row')}{of} {came} after the seal", "late rows"
    else:
        why, reason = "the epoch before it was revised since", REVISED
    command = replay_command(source.name, monitor, int(first), int(starts[-1]) + source.epoch, reason)
    return Stale(int(first), why, command)


def _torn(chain: SealedChain) -> int | None:
    """Where in the chain the first seal stands whose parent is not the epoch before as it is now."""
    expected = ["", *chain.column("digest")][:-1]
    parents = chain.column("parent")
    known = range(0 if chain.begins else 1, len(parents))
    return next((at for at in known if parents[at] != expected[at]), None)


def _late(chain: SealedChain, landed: Landed, counts_from: int) -> dict[int, int]:
    """Rows by epoch that landings have brought since the epoch was sealed, or since the chain has begun."""
    starts = chain.starts
    if not len(starts) or not len(landed.starts):
        return {}
    seen = np.asarray(chain.rows["landing"].to_numpy(), np.int64)
    at = np.minimum(np.searchsorted(starts, landed.starts), len(starts) - 1)
    is_late = (starts[at] == landed.starts) & (landed.landings > seen[at])
    is_late |= (landed.starts < starts[0]) & (landed.starts >= counts_from)  # the chain begins behind them
    rows: dict[int, int] = {}
    for start, count in zip(landed.starts[is_late].tolist(), landed.events[is_late].tolist(), strict=True):
        rows[start] = rows.get(start, 0) + count
    return rows
