"""How the sum of the arrays is expected to grow while the window fills."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Image


@dataclass(slots=True)
class Growth(Image):
    """The factor by which every array is expected to have grown since a synchronisation: a line that ends flat.

    Sites divide their arrays by it before they test them, and the coordinator multiplies its estimate by its square.
    All nodes know the epoch, so that nothing is said; and since the sum of the divided arrays is the divided sum, the
    promise does not rest on the expectation: a wrong one costs synchronisations.
    """

    since: int = 0
    rate: float = 0.0
    until: int = 0

    def ends(self, epoch: int) -> bool:
        """Whether the expectation has come to its end with this epoch."""
        return self.rate > 0 and epoch >= self.until

    def factor(self, epoch: int) -> float:
        return 1.0 + self.rate * max(0, min(epoch, self.until) - self.since)
