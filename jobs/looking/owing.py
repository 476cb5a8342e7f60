"""Rows that were set aside, as they are told: whose, of which epoch, how many, and the commands that decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.epoch.chain import cursor_of
from jobs.epoch.planning import OWED
from jobs.lake import Lake
from jobs.lake.seals import Seal
from jobs.terminal.wording import as_argument, counted, printable
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time


@dataclass(frozen=True, order=True)
class SetAside:
    """Landed rows of a site's epoch that no answer counts."""

    epoch_start: int
    site: str
    source: str
    rows: int
    rejected: bool

    @property
    def text(self) -> str:
        of = f"{counted(self.rows, 'row')} of site '{printable(self.site)}' of epoch {format_time(self.epoch_start)}"
        if self.rejected:
            return f"{of}: rejected, left out for good"
        return f"{of}: owed; take them in by `{self.command('admit')}`, or leave them out by `{self.command('reject')}`"

    def command(self, verb: str) -> str:
        return (
            f"farwatch {verb} {self.source} --site {as_argument(self.site)} --epoch {format_time(self.epoch_start)}"
            f" --reason 'looked at the rows'"
        )

    def to_plain(self) -> dict[str, Any]:
        plain = {
            "site": self.site, "epoch_start": format_time(self.epoch_start), "rows": self.rows,
            "rejected": self.rejected,
        }  # fmt: skip
        return plain if self.rejected else plain | {"admit": self.command("admit"), "reject": self.command("reject")}


def set_aside_of(lake: Lake, source: Source, seal: Seal) -> list[SetAside]:
    """What the window of a sealed epoch lacks; where its seal counts nothing, nothing is read."""
    if not seal.counts.get(OWED):
        return []
    owed = cursor_of(lake, seal).owed
    return sorted(
        SetAside(source.clock.start_of(one.epoch), one.site, source.name, one.rows, one.rejected) for one in owed
    )


def undecided(of_monitors: Iterable[Sequence[SetAside]]) -> list[SetAside]:
    """What is owed to some monitor, each (site, epoch) once, with the most rows that it owes to one."""
    found: dict[tuple[int, str], SetAside] = {}
    for one in sorted(each for own in of_monitors for each in own if not each.rejected):
        found[one.epoch_start, one.site] = one
    return [found[key] for key in sorted(found)]
