"""Margins: what a site and the coordinator remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.protocols.topk.lagging import Lagging
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class MarginsSiteState(Image, tag=10, version=1):
    """A site's sums; of tracked items the value last told, and the width where one was granted.

    `floor` is the least width and threshold; `threshold` counts where it is larger.
    """

    node: str
    period: int = 0
    begun: bool = False
    floor: int = 0
    threshold: int = 0
    sums: Tally = field(default_factory=Tally)
    copies: Tally = field(default_factory=Tally)
    widths: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class MarginsCoordinatorState(Image, tag=11, version=1):
    """What the coordinator and the sites have agreed on, what it published, and the proof.

    `copies` holds the tracked (site, item) pairs, `widths` those of them with a width above the floor,
    `thresholds` the sites that have begun. `spoken` counts the epochs in which an item spoke unasked since it
    was last asked for, `waits` how many there must be before it is granted a width.

    The proof: no outsider exceeds `outsider_high`, no member (in the order of the question) lies below
    `member_low`, and the former exceeds the latter by at most the tolerance, or by `excess` if sites are missing.
    """

    period: int = 0
    floors: Lagging = field(default_factory=Lagging)
    thresholds: dict[str, int] = field(default_factory=dict)
    copies: Tally = field(default_factory=Tally)
    widths: Tally = field(default_factory=Tally)
    spoken: Tally = field(default_factory=Tally)
    waits: Tally = field(default_factory=Tally)
    names: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    lows: list[int] = field(default_factory=list)
    highs: list[int] = field(default_factory=list)
    member_low: int = 0
    outsider_high: int = 0
    excess: int = 0
