"""What the nodes of `convex` and `half-space` remember."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Floats, Image, Ints
from monitoring_lib.protocols.geometric.self_join.growth import Growth
from monitoring_lib.protocols.geometric.self_join.letters import Reference
from monitoring_lib.tally import Tally


def _floats() -> Floats:
    return np.empty(0)


def _ints() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class SiteState(Image, tag=20, version=2):
    """A site's window and what it compares it with.

    `ring` holds exact counts by (owner, tick, item); with a sketch, `newest` to `rings` hold its counters. The array at
    the last synchronisation is `own`, the sum of all `total`: by item, or cell by cell (`half-space` knows
    only the norms of the sum's rows), and `growth` says how they are expected to have grown since.
    """

    node: str
    ring: Tally = field(default_factory=Tally)
    newest: int = 0
    arrived: int = 0
    count: Ints = field(default_factory=_ints)
    first: Ints = field(default_factory=_ints)
    rings: Ints = field(default_factory=_ints)
    own_items: Tally = field(default_factory=Tally)
    total_items: Tally = field(default_factory=Tally)
    own_cells: Ints = field(default_factory=_ints)
    total_cells: Ints = field(default_factory=_ints)
    norms: Floats = field(default_factory=_floats)
    synchronised: bool = False
    growth: Growth = field(default_factory=Growth)
    weight: float = 1.0
    normal: Floats = field(default_factory=_floats)
    upper_slack: float = 0.0
    lower_slack: Floats = field(default_factory=_floats)


@dataclass(slots=True)
class CoordinatorState(Image, tag=21, version=2):
    """The sites with how many events each had at the last synchronisation, and what all were told then.

    `size` is the self-join size of that time; the estimate is what it is expected to have become. `events` is the sum
    of the first row of the arrays, `first` the epoch since which the window has not been empty.
    """

    counts: Tally = field(default_factory=Tally)
    size: float = 0.0
    events: int = 0
    first: int = 0
    reference: Reference | None = None
    normal: Floats = field(default_factory=_floats)
