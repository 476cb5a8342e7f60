"""What a peer of TOPiCo remembers."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class TopicoState(Image, tag=2, version=1):
    """The site's own sums, and the last list of every site, its own as it was last sent.

    `lists` maps (site, item) to twice the sum, plus 1 where the site names the item on its own account; `unlisted`
    maps each site whose list is held to its largest unlisted sum. `holders` have the own list as it stands. `fresh`
    are the items that nobody named before the last round: the sites have not answered them yet. `sends` counts the
    lists of this epoch.
    """

    node: str
    period: int = 0
    sends: int = 0
    sums: Tally = field(default_factory=Tally)
    lists: Tally = field(default_factory=Tally)
    unlisted: Tally = field(default_factory=Tally)
    holders: list[str] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)
