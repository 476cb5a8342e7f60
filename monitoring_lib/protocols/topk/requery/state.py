"""Requery: what a site and the coordinator remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class RequerySiteState(Image, tag=14, version=1):
    """A site's sums, and the items that it has told of in this epoch's query."""

    node: str
    period: int = 0
    sums: Tally = field(default_factory=Tally)
    asked: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RequeryCoordinatorState(Image, tag=15, version=1):
    """What was last said, and the proof of what was published.

    `said` holds the scores by (site, item), `caps` what no other score of the site exceeded. The proof: no
    outsider's score exceeds `outsider_high`, no member's lies below `member_low`; None is unbounded.
    """

    period: int = 0
    k: int = 0
    tolerance: int = 0
    said: Tally = field(default_factory=Tally)
    caps: dict[str, int] = field(default_factory=dict)
    members: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    lows: list[int | None] = field(default_factory=list)
    highs: list[int | None] = field(default_factory=list)
    member_low: int | None = 0
    outsider_high: int = 0
    excess: int | None = 0
