"""What a site and the coordinator remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class ExactSiteState(Image, tag=2, version=1):
    """The items that the site has sent, each with 1."""

    period: int = 0
    sent: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class ExactCoordinatorState(Image, tag=3, version=1):
    """The items received, each with the number of the epoch that it last came in, plus 1."""

    period: int = 0
    items: Tally = field(default_factory=Tally)
