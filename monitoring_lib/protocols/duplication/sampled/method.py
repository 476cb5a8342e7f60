"""The three ways to keep the counts of the sample.

Cormode, Muthukrishnan and Zhuang, What's Different: Distributed, Continuous Monitoring of Duplicate-Resilient
Aggregates on Data Streams, section 5 (LCO, GCS, LCS).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.duplication.levels import Levels
from monitoring_lib.protocols.duplication.question import Duplication
from monitoring_lib.protocols.duplication.sampled.coordinator import SampleCoordinator, Sharing
from monitoring_lib.protocols.duplication.sampled.letters import Increments, SampleLevel, Totals
from monitoring_lib.protocols.duplication.sampled.site import SamplingSite
from monitoring_lib.protocols.duplication.sampled.slack import OwnSlack, SharedSlack, Slack


class SamplingOptions(Keys):
    """What a monitor may choose."""

    seed: int = Field(default=0, description="of the hash that draws the sample")


class _Sampling(Method):
    """States go on when the rows or the lag change, or the sample shrinks; another draw, also by other steps between
    levels, is another sample."""

    question = Duplication()
    Options = SamplingOptions
    needs_expiring = False
    slack: ClassVar[Slack]
    sharing: ClassVar[Sharing] = "none"

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = SamplingSite(ask, self.slack)
        self.inner = SampleCoordinator(ask, self.slack, self.sharing)

    def most_rounds(self, sites: int) -> int:
        """Counts, then what the coordinator tells of them; sites have nothing to reply."""
        return 3

    def continues(self, before: Ask) -> bool:
        return (
            before.window == self.ask.window
            and before.options == self.ask.options
            and Levels.of(before) == Levels.of(self.ask)
            and before.params.sample >= self.ask.params.sample
        )


class LocalCounts(_Sampling):
    """A site tells a count that has grown by more than the lag: ``C > (1 + lag) C'``."""

    name = "local-counts"
    letters = (Increments, SampleLevel)
    slack = OwnSlack()


class GlobalCounts(_Sampling):
    """A site tells a count that has grown by more than its part of the lag of the total, which all sites are told."""

    name = "global-counts"
    letters = (Increments, SampleLevel, Totals)
    slack = SharedSlack()
    sharing = "all"


class LazyCounts(_Sampling):
    """As global counts, but a site is told a total only in reply, and only one that gives it more slack."""

    name = "lazy-counts"
    letters = (Increments, SampleLevel, Totals)
    slack = SharedSlack()
    sharing = "senders"
