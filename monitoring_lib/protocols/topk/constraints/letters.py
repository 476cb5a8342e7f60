"""The letters of constraints alone. Factors, borders and levels are in 1024ths of the scaled measure."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.network import Letter
from monitoring_lib.protocols.topk.letters import BorderLetter


@dataclass(slots=True)
class Request(BorderLetter, tag=20, version=1):
    """A site's constraint fails: the sums of its members in order, then of the outsiders named, and its border.

    `number` is that of the last factors it got; a request made under older ones is void.
    """

    number: int
    outsiders: list[str]
    sums: list[int]
    border: int
    rate: int


@dataclass(slots=True)
class LongList(Letter, tag=21, version=1):
    """A site's constraint fails for so many outsiders that it does not name them."""

    number: int
    outsiders: int


@dataclass(slots=True)
class Factors(Letter, tag=27, version=1):
    """New factors of a site, and who entered and left the set of members; `anew` forgets all older ones."""

    number: int
    names: list[str]
    factors: list[int]
    entering: list[str] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)
    anew: bool = False

    @property
    def entries(self) -> int:
        named = set(self.names)
        return len(self.names) + sum(name not in named for name in (*self.entering, *self.leaving))


@dataclass(slots=True)
class ItemNames(Letter, tag=28, version=1):
    """Items seen for the first time: by the site, or, told to a site, elsewhere; and items that count no more.

    `anew` says that there are no items but these and the site's own.
    """

    names: list[str]
    gone: list[str] = field(default_factory=list)
    anew: bool = False

    @property
    def entries(self) -> int:
        return len(self.names) + len(self.gone)


@dataclass(slots=True)
class Relief(Letter, tag=31, version=1):
    """A member fell below many outsiders: the site has raised its factor by the amount, another is to lower it."""

    member: str
    amount: int
    outsiders: int


@dataclass(slots=True)
class WouldFail(Letter, tag=32, version=1):
    """The coordinator asks how many outsiders would stand above the member if its factor fell by the amount."""

    member: str
    amount: int


@dataclass(slots=True)
class Failing(Letter, tag=33, version=1):
    """How many outsiders would."""

    outsiders: int


@dataclass(slots=True)
class Lowered(Letter, tag=34, version=1):
    """The member's factor falls by the amount at this site."""

    number: int
    member: str
    amount: int
