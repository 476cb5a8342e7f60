"""What a site and the coordinator remember where all pairs are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class PairsSiteState(Image, tag=10, version=1):
    """The pairs that the site has seen and told."""

    node: str
    period: int = 0
    pairs: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class AllPairsState(Image, tag=11, version=1):
    """All pairs of all sites, and how many partners each item has."""

    period: int = 0
    pairs: Tally = field(default_factory=Tally)
    partners: Tally = field(default_factory=Tally)
