"""What the nodes of `local-tests` remember."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Floats, Image, Ints, Names
from monitoring_lib.tally import Tally


def _ints() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class SiteState(Image, tag=20, version=2):
    """A site's window, and the references of the items that are tracked.

    `ring` holds exact counts by (owner, tick, item); with a sketch, `newest` to `rings` hold its counters, `seen` the
    last tick of each name, and `full` the epoch in which each full cell was told. Of a tracked item: the site's own
    counters and the sums of all when it was last synchronised, in which epoch, and the site's share of the leeway.
    Counters stand item by item.
    """

    node: str
    ring: Tally = field(default_factory=Tally)
    newest: int = 0
    arrived: int = 0
    count: Ints = field(default_factory=_ints)
    first: Ints = field(default_factory=_ints)
    rings: Ints = field(default_factory=_ints)
    seen: Tally = field(default_factory=Tally)
    full: dict[int, int] = field(default_factory=dict)
    sites: int = 0
    tracked: Names = field(default_factory=Names)
    own: Ints = field(default_factory=_ints)
    totals: Ints = field(default_factory=_ints)
    shares: Floats = field(default_factory=lambda: np.empty(0))
    since: Ints = field(default_factory=_ints)


@dataclass(slots=True)
class CoordinatorState(Image, tag=21, version=2):
    """The sites of the last epoch, the epoch of each tracked item's last synchronisation, and what was over then.

    With a sketch also the epoch in which each full cell was told.
    """

    members: list[str] = field(default_factory=list)
    full: dict[int, int] = field(default_factory=dict)
    tracked: Tally = field(default_factory=Tally)
    over: Tally = field(default_factory=Tally)
