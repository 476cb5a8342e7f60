"""What a site and the coordinator remember of the sample."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class SamplingSiteState(Image, tag=10, version=1):
    """Of the items that reach the level: the site's counts, what of them it has told, and the totals it was told.

    `allotment` is the slack, as a fraction, by which every count was last held against what was told.
    """

    node: str
    period: int = 0
    level: int = 0
    allotment: str = ""
    counts: Tally = field(default_factory=Tally)
    told: Tally = field(default_factory=Tally)
    totals: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class SampleState(Image, tag=11, version=1):
    """The sample: every item that reaches the level, with its count over all sites as far as it was told.

    `allotments` is the slack that each site had when it last observed. `shown` maps (site, item) to the total that
    the site was last told, where only those are told who ask.
    """

    period: int = 0
    level: int = 0
    sample: Tally = field(default_factory=Tally)
    allotments: dict[str, str] = field(default_factory=dict)
    shown: Tally = field(default_factory=Tally)
