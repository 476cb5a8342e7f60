"""What sites and the coordinator tell each other, in every method of this family."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Ints
from monitoring_lib.network import Letter


@dataclass(slots=True)
class NewBounds(Letter, tag=1, version=1):
    """New bounds: from a tick of the epoch on, the value of an object lies around a centre, within its width.

    `names` are the objects that the site has not named before; they take the next places in its list. `centres` are
    doubled, so that they are whole. One entry is one bound: the paper's update message.
    """

    names: list[str]
    places: Ints
    ticks: Ints
    centres: Ints

    @property
    def entries(self) -> int:
        return len(self.places)


@dataclass(slots=True)
class NewWidths(Letter, tag=2, version=1):
    """The widths of some of a site's objects, from the next epoch's first tick on: the paper's growth message."""

    places: Ints
    widths: Ints

    @property
    def entries(self) -> int:
        return len(self.places)


@dataclass(slots=True)
class Agreed(Letter, tag=5, version=1):
    """To a missing site: the queries under which its widths hold, which changed while it was away."""

    agreed: dict[str, str]

    @property
    def entries(self) -> int:
        return len(self.agreed)


@dataclass(slots=True)
class Steps(Letter, tag=3, version=1):
    """How far objects move in a tick, as their source measured it, in 1/1024 of the value's step."""

    places: Ints
    sizes: Ints

    @property
    def entries(self) -> int:
        return len(self.places)


@dataclass(slots=True)
class Curves(Letter, tag=4, version=1):
    """How many bounds each object would have sent in some ticks, at widths around a base.

    Counts fall with the width; `lengths` says how many of them each object has before they are all 0.
    """

    ticks: int
    places: Ints
    bases: Ints
    lengths: Ints
    counts: Ints

    @property
    def entries(self) -> int:
        return len(self.bases) + len(self.counts)
