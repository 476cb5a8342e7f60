"""Makes the command that seals a monitor's chain anew from an epoch on, for every text that prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitoring_lib.epochs import format_time

if TYPE_CHECKING:
    from jobs.lake.ledger import Ledger


def replay_command(source: str, monitor: str, start: int, end: int, reason: str) -> str:
    return (
        f"farwatch run --source {source} --from {format_time(start)} --to {format_time(end)} --monitors {monitor}"
        f" --revise '{reason}'"
    )


def end_of_chain(ledger: Ledger, source: str, monitor: str, start: int, length: int) -> int:
    """Where the last sealed epoch ends, of those from `start` on; `start` where none is."""
    sealed = ledger.seals(source, monitor, start)
    return sealed[-1].epoch_start + length if sealed else start


REVISED = "the epoch before was revised"
"""The reason for a replay of what follows from a revised epoch."""
