"""Sites that have left: they are silent for good, and count as there with nothing, so that no answer waits for them.

A missing site's last report stands in for it. One that has left is run on as a site without events: what it counted
leaves the window as anybody's does, and it says so by the rules of its protocol, once it has heard what it missed. So
answers are no longer partial because of it. It is back with its first event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from jobs.epoch.cursor import Cursor
from jobs.epoch.decisions import Decision
from monitoring_lib.epochs import Clock


@dataclass(frozen=True)
class Leaving:
    """By which rule sites leave: after `patience` epochs without taking part, or when somebody has retired them."""

    patience: int | None = None
    asked: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, patience: int | None, decisions: Iterable[Decision], clock: Clock) -> Self:
        return cls(patience, {one.site: clock.epoch_of(one.epoch_start) for one in decisions})

    def is_due(self, site: str, seen: int, epoch: int) -> bool:
        """Whether a silent site that took part last in epoch `seen` leaves with this one."""
        return (self.patience is not None and epoch - seen > self.patience) or seen < self.asked.get(
            site, seen
        ) <= epoch


@dataclass
class Roll:
    """Who has left, and when everybody last took part, as the epochs of a run go by."""

    leaving: Leaving
    retired: set[str]
    seen: dict[str, int]

    @classmethod
    def after(cls, cursor: Cursor, leaving: Leaving) -> Self:
        return cls(leaving, set(cursor.retired), {one.site: cursor.last_seen(one) for one in cursor.members})

    def join(self, sites: Iterable[str], epoch: int) -> None:
        self.seen |= dict.fromkeys(sites, epoch - 1)

    def pass_epoch(
        self, epoch: int, came: Collection[str], missing: Collection[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Who leaves, who is back, and who is missing; `missing` are those that were set aside."""
        back = sorted(self.retired.intersection(came))
        left = sorted(
            site for site, seen in self.seen.items()
            if site not in came and site not in self.retired and self.leaving.is_due(site, seen, epoch)
        )  # fmt: skip
        self.retired = (self.retired - set(back)) | set(left)
        absent = sorted((self.seen.keys() & set(missing)) - self.retired)
        for site in self.seen.keys() - set(absent):
            self.seen[site] = epoch
        return left, back, absent


def gone(cursor: Cursor, leaving: Leaving, epoch: int, came: Collection[str]) -> set[str]:
    """The sites that are not asked to be fresh from an epoch on: they have left, or leave with it."""
    roll = Roll.after(cursor, leaving)
    roll.pass_epoch(epoch, came, ())
    return roll.retired
