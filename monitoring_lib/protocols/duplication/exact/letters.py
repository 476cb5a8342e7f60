"""What a site tells: all that it counted in an epoch."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.network import Letter
from monitoring_lib.synopses.counts import Counts


@dataclass(slots=True)
class AllCounts(Letter, tag=1, version=1):
    """Every item that occurred at the site in the epoch, with how often."""

    counts: Counts

    @property
    def entries(self) -> int:
        return len(self.counts)
