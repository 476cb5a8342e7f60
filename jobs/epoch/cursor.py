"""What a sealed epoch leaves to the next: its roster, when each site last observed, where states are stored.

The next epoch is planned from this alone, however long the chain is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import msgspec

from monitoring_lib.epochs import Window

StateSide = Literal["sites", "inner"]


@dataclass(frozen=True, slots=True)
class Member:
    """A site of the roster: since which epoch, and by method where it belongs in the topology."""

    site: str
    joined: int
    placements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_plain(self) -> list[Any]:
        return [self.site, self.joined, {name: list(texts) for name, texts in sorted(self.placements.items())}]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> Self:
        return cls(plain[0], plain[1], {name: tuple(texts) for name, texts in plain[2].items()})


@dataclass(frozen=True, slots=True)
class Owed:
    """Landed rows of a site's epoch that was set aside: owed until they are admitted, or rejected for good."""

    epoch: int
    site: str
    rows: int
    rejected: bool = False

    def to_plain(self) -> list[Any]:
        return [self.epoch, self.site, self.rows, self.rejected]


@dataclass(frozen=True, slots=True)
class StoredState:
    """Where the rows of a state are: the epoch of its last base, and that of its last row."""

    base: int
    last: int


StoredStates = Mapping[str, Mapping[str, StoredState]]
"""By method, then by site or inner node."""


@dataclass(frozen=True, slots=True)
class Cursor:
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

    def to_plain(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch, "members": [member.to_plain() for member in self.members],
            "away": dict(self.away), "owed": [one.to_plain() for one in self.owed], "begun": dict(self.begun),
            "sites": _plain_states(self.sites), "inner": _plain_states(self.inner), "first": self.first,
            **({"bare": list(self.bare)} if self.bare else {}),
            **({"retired": list(self.retired)} if self.retired else {}),
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(
            plain["epoch"], tuple(map(Member.from_plain, plain["members"])), plain["away"],
            tuple(Owed(*one) for one in plain["owed"]), plain["begun"],
            _read_states(plain["sites"]), _read_states(plain["inner"]), tuple(plain.get("bare", ())),
            tuple(plain.get("retired", ())), plain.get("first", 0),
        )  # fmt: skip

    def to_json(self) -> str:
        return msgspec.json.encode(self.to_plain(), order="deterministic").decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls.from_plain(msgspec.json.decode(text))


def moved(stored_states: StoredStates, method: str, epoch: int, stored: Iterable[tuple[str, str]]) -> StoredStates:
    """With what was stored of a method in an epoch: (node, base or change)."""
    new = dict(stored_states.get(method, {}))
    for name, form in stored:
        new[name] = StoredState(epoch if form == "base" else new[name].base, epoch)
    return {**stored_states, method: new}


def _plain_states(stored_states: StoredStates) -> dict[str, Any]:
    return {
        method: {name: [stored.base, stored.last] for name, stored in found.items()}
        for method, found in stored_states.items()
    }


def _read_states(plain: Mapping[str, Any]) -> StoredStates:
    return {method: {name: StoredState(*ends) for name, ends in found.items()} for method, found in plain.items()}
