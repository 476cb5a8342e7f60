"""Every update: sites tell all counts of an epoch, the coordinator keeps those of the window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import InnerRole, LookUp, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.protocols.recent_counts.asking import look_up
from monitoring_lib.protocols.recent_counts.every_update.exact import ExactView
from monitoring_lib.protocols.recent_counts.rows import answers_of
from monitoring_lib.tick_counts import TickCounts


@dataclass(slots=True)
class Updates(Letter, tag=1, version=1):
    """All counts of an epoch at the sender, by tick and item."""

    counts: TickCounts

    @property
    def entries(self) -> int:
        return len(self.counts)


@dataclass(slots=True)
class TellingState(Image, tag=2, version=1):
    """A site that tells everything need remember nothing."""

    node: str


@dataclass(slots=True)
class HoldingState(Image, tag=3, version=1):
    """The counts of every site that are in the window, and perhaps some that have left it."""

    held: dict[str, TickCounts] = field(default_factory=dict)


class TellingSite(SiteRole[TellingState]):
    State = TellingState

    def start(self, node: str) -> TellingState:
        return TellingState(node)

    def observe(self, state: TellingState, moment: Moment, arriving: TickCounts, expiring: Any) -> Iterable[Post]:
        if len(arriving):
            yield Post(COORDINATOR, Updates(arriving), "every count")


class HoldingCoordinator(InnerRole[HoldingState]):
    State = HoldingState

    def start(self, node: str) -> HoldingState:
        return HoldingState()

    def receive(self, state: HoldingState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        assert self.ask.span is not None
        end = (moment.epoch + 1) * self.ask.ticks
        for delivery in inbox:
            assert isinstance(delivery.letter, Updates)
            kept = state.held.get(delivery.sender, TickCounts()).between(end - self.ask.span, end)
            new = delivery.letter.counts
            state.held[delivery.sender] = TickCounts.merge_all([kept, new]) if len(kept) else new
        for site in state.held.keys() - set(moment.sites):
            del state.held[site]
        return ()

    def answers(self, state: HoldingState, moment: Moment) -> Answers:
        return answers_of(self.ask, self._view(state, moment), COORDINATOR, moment.end, partial=False)

    def certificate(self, state: HoldingState, moment: Moment) -> str:
        return f"The coordinator holds every count of the window, of {len(state.held):,} sites."

    def look_up(self, state: HoldingState, moment: Moment, asked: LookUp) -> Answers:
        return look_up(self.ask, self._view(state, moment), COORDINATOR, moment.end, asked, moment.owed)

    def _view(self, state: HoldingState, moment: Moment) -> ExactView:
        return ExactView(state.held.values(), (moment.epoch + 1) * self.ask.ticks)
