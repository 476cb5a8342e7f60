"""The letters of this family. Entries count what the text counts: a name with a number, or either alone.

Sums are those of the scaled measure; the factors, borders and levels of `constraints` are in its 1024ths.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.network import Letter


@dataclass(slots=True)
class Values(Letter, tag=1, version=1):
    """Sums of a site, as they are now."""

    names: list[str]
    values: list[int]

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class FirstValues(Letter, tag=5, version=1):
    """A site's largest sums of its first epoch, and the largest that it kept to itself."""

    names: list[str]
    values: list[int]
    threshold: int

    @property
    def entries(self) -> int:
        return len(self.names) + 1


@dataclass(slots=True)
class Enquiry(Letter, tag=6, version=1):
    """The coordinator asks a site for items, which from then on are tracked closely."""

    names: list[str]

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class Lower(Letter, tag=7, version=1):
    """The site's threshold falls; it sends what now lies above."""

    threshold: int


@dataclass(slots=True)
class Raise(Letter, tag=8, version=1):
    """The site's threshold rises; what lies below and is not named here is forgotten at both ends."""

    threshold: int
    kept: list[str] = field(default_factory=list)

    @property
    def entries(self) -> int:
        return 1 + len(self.kept)


@dataclass(slots=True)
class Widths(Letter, tag=9, version=1):
    """How far these items' sums may drift from here on before the site tells."""

    names: list[str]
    widths: list[int]

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class Changed(Letter, tag=16, version=1):
    """Sums of the site have changed, so that the answer may have."""


@dataclass(slots=True)
class Request(Letter, tag=20, version=1):
    """A site's constraint fails: the sums of its members in order, then of the outsiders named, and its border.

    `number` is that of the last factors it got; a request made under older ones is void.
    """

    number: int
    outsiders: list[str]
    sums: list[int]
    border: int
    rate: int

    @property
    def entries(self) -> int:
        return len(self.sums) + 1


@dataclass(slots=True)
class LongList(Letter, tag=21, version=1):
    """A site's constraint fails for so many outsiders that it does not name them."""

    number: int
    outsiders: int


@dataclass(slots=True)
class Tell(Letter, tag=22, version=1):
    """The coordinator asks for sums and the border beside them; `anew` forgets what was asked before."""

    names: list[str]
    anew: bool = True

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class Told(Letter, tag=23, version=1):
    """The sums asked for, in order, and the largest adjusted sum of all objects not asked for."""

    sums: list[int]
    border: int
    rate: int

    @property
    def entries(self) -> int:
        return len(self.sums) + 1


@dataclass(slots=True)
class Best(Letter, tag=24, version=1):
    """The coordinator asks for the members and the best outsiders by adjusted sum."""

    count: int


@dataclass(slots=True)
class Above(Letter, tag=25, version=1):
    """The coordinator asks for every further object whose adjusted sum exceeds a level."""

    level: int


@dataclass(slots=True)
class Found(Letter, tag=26, version=1):
    """Objects found: the members' sums in order where they were asked for, then those of the names; the border."""

    names: list[str]
    sums: list[int]
    border: int
    rate: int

    @property
    def entries(self) -> int:
        return len(self.sums) + 1


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
class Names(Letter, tag=28, version=1):
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
class Poll(Letter, tag=29, version=1):
    """The coordinator asks for sums only to publish them."""

    names: list[str]

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class Polled(Letter, tag=30, version=1):
    """The sums polled, in order."""

    sums: list[int]

    @property
    def entries(self) -> int:
        return len(self.sums)


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
