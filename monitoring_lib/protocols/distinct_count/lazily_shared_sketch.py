"""Lazily shared sketch (LS of the paper): a site is told what it lacks when it reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from monitoring_lib.methods import Moment
from monitoring_lib.network import Post
from monitoring_lib.protocols.distinct_count.sketched.coordinator import SketchCoordinator
from monitoring_lib.protocols.distinct_count.sketched.method import SketchMethod


class LazilySharedSketchCoordinator(SketchCoordinator):
    """Tells those that have reported what they lack."""

    shares = True

    def replies(self, state: Any, moment: Moment, senders: Sequence[str]) -> Iterable[Post]:
        lacking = ((site, self.lacking_at(state, site)) for site in senders)
        return [self.share(state, site, part) for site, part in lacking if part is not None]


class LazilySharedSketch(SketchMethod):
    """Every report is answered."""

    name = "lazily-shared-sketch"
    Coordinator = LazilySharedSketchCoordinator
