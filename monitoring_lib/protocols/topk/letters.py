"""Letters that several methods share; the others are in their method's package.

Entries count what the paper counts: a name with a number, or either alone.
Sums are those of the scaled measure; borders and levels are in its 1024ths.
"""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.network import Letter, NamesLetter


class BorderLetter(Letter):
    """Sums of a site, and a border for all its other objects, which is an entry too."""

    __slots__ = ()
    sums: list[int]

    @property
    def entries(self) -> int:
        return len(self.sums) + 1


@dataclass(slots=True)
class SiteSums(NamesLetter, tag=1, version=1):
    """Sums of a site, as they are now."""

    names: list[str]
    values: list[int]


@dataclass(slots=True)
class Tell(NamesLetter, tag=22, version=1):
    """The coordinator asks for sums and the border beside them; `anew` forgets what was asked before."""

    names: list[str]
    anew: bool = True


@dataclass(slots=True)
class Told(BorderLetter, tag=23, version=1):
    """The sums asked for, in order, and the largest adjusted sum of all objects not asked for."""

    sums: list[int]
    border: int
    rate: int


@dataclass(slots=True)
class Best(Letter, tag=24, version=1):
    """The coordinator asks for the members and the best outsiders by adjusted sum."""

    count: int


@dataclass(slots=True)
class Above(Letter, tag=25, version=1):
    """The coordinator asks for every further object whose adjusted sum exceeds a level."""

    level: int


@dataclass(slots=True)
class FoundObjects(BorderLetter, tag=26, version=1):
    """Objects found: the members' sums in order where they were asked for, then those of the names; the border."""

    names: list[str]
    sums: list[int]
    border: int
    rate: int


@dataclass(slots=True)
class Poll(NamesLetter, tag=29, version=1):
    """The coordinator asks for sums only to publish them."""

    names: list[str]


@dataclass(slots=True)
class Polled(Letter, tag=30, version=1):
    """The sums polled, in order."""

    sums: list[int]

    @property
    def entries(self) -> int:
        return len(self.sums)
