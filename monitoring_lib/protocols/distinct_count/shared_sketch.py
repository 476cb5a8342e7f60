"""Shared sketch (SS of the paper): every site is told every bit that it lacks, at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from monitoring_lib.methods import Moment
from monitoring_lib.network import Post
from monitoring_lib.protocols.distinct_count.sketched.coordinator import SketchCoordinator
from monitoring_lib.protocols.distinct_count.sketched.method import SketchMethod


class SharedSketchCoordinator(SketchCoordinator):
    """Tells all present sites what they lack; they test again, and rounds go on until none reports."""

    shares = True

    def replies(self, state: Any, moment: Moment, senders: Sequence[str]) -> Iterable[Post]:
        lacking = ((site, self.lacking_at(state, site)) for site in sorted(moment.present))
        return [self.share(state, site, part) for site, part in lacking if part is not None]


class SharedSketch(SketchMethod):
    """No bit is reported that another site has reported in an earlier epoch."""

    name = "shared-sketch"
    Coordinator = SharedSketchCoordinator
