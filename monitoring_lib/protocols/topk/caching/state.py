"""Caching: what a site and the coordinator remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.protocols.topk.lagging import Lagging
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class CachingSiteState(Image, tag=2, version=1):
    """A site's sums, and how far each lies from the coordinator's copy where the two differ."""

    node: str
    period: int = 0
    width: int = 0
    sums: Tally = field(default_factory=Tally)
    gaps: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class CachingCoordinatorState(Image, tag=3, version=1):
    """The copies by (site, item); and how far they may be off, which differs at sites that are missing."""

    period: int = 0
    widths: Lagging = field(default_factory=Lagging)
    copies: Tally = field(default_factory=Tally)
