"""What a sealed epoch leaves to the next: its roster, when each site last observed, where states are stored.

The next epoch is planned from this alone, however long the chain is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Self

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from monitoring_lib.epochs import Window

StateSide = Literal["sites", "inner"]


# A plan holds thousands of these: they are read and stored as they are, and hold nothing that could form a cycle.
class Member(Struct, frozen=True, array_like=True, gc=False):
    """A site of the roster: since which epoch, and by method where it belongs in the topology."""

    site: str
    joined: int
    placements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Owed(Struct, frozen=True, array_like=True, gc=False):
    """Landed rows of a site's epoch that was set aside: owed until they are admitted, or rejected for good."""

    epoch: int
    site: str
    rows: int
    rejected: bool = False


class StoredState(Struct, frozen=True, array_like=True, gc=False):
    """Where the rows of a state are: the epoch of its last base, and that of its last row."""

    base: int
    last: int


StoredStates = Mapping[str, Mapping[str, StoredState]]
"""By method, then by site or inner node."""


class Cursor(Struct, frozen=True):
    """As of the end of `epoch`; -1 is before the first."""

    epoch: int = -1
    members: tuple[Member, ...] = ()
    """In the order of joining."""
    away: Mapping[str, int] = field(default_factory=dict)
    """The sites that did not observe the epoch, each with the last one that it did observe."""
    owed: tuple[Owed, ...] = ()
    """Rows that were set aside and belong to the window."""
    begun: Mapping[str, int] = field(default_factory=dict)
    """By method, the epoch since which its states go on, where that is not the first."""
    sites: StoredStates = field(default_factory=dict)
    inner: StoredStates = field(default_factory=dict)
    bare: tuple[str, ...] = ()
    """The begun methods that take in other synopses than were made before: their answers lack what came before."""
    retired: tuple[str, ...] = ()
    """The sites that have left: silent, and not missed."""
    first: int = 0
    """The epoch with which the chain begins: nothing counts before it."""

    def last_seen(self, member: Member) -> int:
        """The last epoch that a site observed; the one before it joined, if it never did."""
        return self.away.get(member.site, self.epoch)

    def joined(
        self, members: Iterable[Member], missing: Iterable[str], owed: Iterable[Owed], window: Window,
        left: Iterable[str] = (), back: Iterable[str] = (),
    ) -> Cursor:  # fmt: skip
        """As of the end of the next epoch, in which these sites joined and those were missing; states as before."""
        epoch, absent = self.epoch + 1, set(missing)
        new = tuple(members)
        everyone = (*self.members, *new)
        before = {member.site: self.last_seen(member) for member in self.members}
        before |= {member.site: epoch - 1 for member in new}
        counting = window.members(epoch)
        return replace(
            self, epoch=epoch, members=everyone,
            away={member.site: before[member.site] for member in everyone if member.site in absent},
            owed=tuple(one for one in (*self.owed, *owed) if one.epoch in counting),
            retired=tuple(sorted({*self.retired, *left} - set(back))),
        )  # fmt: skip

    def begin(self, methods: Iterable[str], bare: Iterable[str]) -> Cursor:
        """Methods that begin anew with the next epoch: nothing of their states is carried on, of `bare` no synopses."""
        anew = set(methods)
        if not anew:
            return self
        return replace(
            self, begun={**self.begun, **dict.fromkeys(anew, self.epoch + 1)},
            sites={name: found for name, found in self.sites.items() if name not in anew},
            inner={name: found for name, found in self.inner.items() if name not in anew},
            bare=tuple(sorted({*bare, *(name for name in self.bare if name not in anew)})),
        )  # fmt: skip

    def to_json(self) -> str:
        return msgspec.json.encode(self, order="deterministic").decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)


def moved(stored_states: StoredStates, method: str, epoch: int, stored: Iterable[tuple[str, str]]) -> StoredStates:
    """With what was stored of a method in an epoch: (node, base or change)."""
    new = dict(stored_states.get(method, {}))
    for name, form in stored:
        new[name] = StoredState(epoch if form == "base" else new[name].base, epoch)
    return {**stored_states, method: new}
