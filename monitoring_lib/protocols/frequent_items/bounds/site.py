"""Bounds, at a site: sends the items that have more than the allowed share of its own total."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pyarrow as pa

from monitoring_lib.methods import Moment, SiteRole
from monitoring_lib.names import Names
from monitoring_lib.network import Post
from monitoring_lib.protocols.frequent_items.bounds.letters import Bounded
from monitoring_lib.protocols.frequent_items.bounds.state import BoundsNodeState
from monitoring_lib.protocols.frequent_items.nodes import total_of, tree_at
from monitoring_lib.protocols.frequent_items.question import refuse_negative
from monitoring_lib.synopses.counts import Counts


class BoundsSite(SiteRole[BoundsNodeState]):
    """Its counts are exact: a listed item lacks nothing, an unlisted one has at most the largest count left out."""

    State = BoundsNodeState

    def start(self, node: str) -> BoundsNodeState:
        return BoundsNodeState(node)

    def observe(self, state: BoundsNodeState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if not len(arriving):
            return
        refuse_negative(self.ask, state.node, arriving)
        total = total_of(state.node, arriving.sums.tolist())
        error = Fraction(self.ask.params.error)
        kept = arriving.sums > error.numerator * total // error.denominator
        names = Names(arriving.names.column.filter(pa.array(kept)))
        unlisted = int(arriving.sums[~kept].max(initial=0))
        letter = Bounded(total, 0, unlisted, names, np.ascontiguousarray(arriving.sums[kept]))
        yield Post(tree_at(moment).parents[state.node], letter, "counted")
