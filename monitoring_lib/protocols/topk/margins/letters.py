"""The letters of margins alone; with them goes `SiteSums` of the family."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.network import Letter, NamesLetter


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
class Enquiry(NamesLetter, tag=6, version=1):
    """The coordinator asks a site for items, which from then on are tracked closely."""

    names: list[str]


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
class ItemWidths(NamesLetter, tag=9, version=1):
    """How far these items' sums may drift from here on before the site tells."""

    names: list[str]
    widths: list[int]
