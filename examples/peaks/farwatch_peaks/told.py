"""Two methods: a site tells its highest value when it has moved by more than the slack, or whenever it has moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from farwatch_peaks.question import Highest, Peak
from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, InnerRole, Method, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class HighestNow(Letter, tag=102, version=1):
    """The highest value of a site's window, None where it holds no value any more."""

    value: int | None


@dataclass(slots=True)
class PeakSiteState(Image, tag=103, version=1):
    """`peaks` are (epoch, value), each value higher than all later ones; `told` is what the coordinator knows."""

    period: int = 0
    peaks: list[tuple[int, int]] = field(default_factory=list)
    told: int | None = None


@dataclass(slots=True)
class PeakState(Image, tag=104, version=1):
    period: int = 0
    told: Tally = field(default_factory=Tally)


class PeakSite(SiteRole[PeakSiteState]):
    State = PeakSiteState

    def __init__(self, ask: Ask, slack: bool) -> None:
        super().__init__(ask)
        self.slack = ask.params.slack * ask.scale if slack else 0

    def start(self, node: str) -> PeakSiteState:
        return PeakSiteState()

    def observe(
        self, state: PeakSiteState, moment: Moment, arriving: Highest, expiring: Highest
    ) -> Iterable[Post]:  # fmt: skip
        if state.period != moment.period:  # the coordinator forgets what was told, too
            state.period, state.peaks, state.told = moment.period, [], None
        self._take(state, moment.epoch, arriving.value)
        now = state.peaks[0][1] if state.peaks else None
        if now != state.told and (now is None or state.told is None or abs(now - state.told) > self.slack):
            state.told = now
            yield Post(COORDINATOR, HighestNow(now), "moved" if now is not None else "empty")

    def _take(self, state: PeakSiteState, epoch: int, value: int | None) -> None:
        sliding = self.ask.window.length is not None
        first = self.ask.window.members(epoch).start
        kept = [(at, peak) for at, peak in state.peaks if not sliding or at >= first]
        if value is not None:
            kept = [(at, peak) for at, peak in kept if peak > value] + [(epoch, value)]
        state.peaks = kept if sliding else kept[:1]


class PeakCoordinator(InnerRole[PeakState]):
    State = PeakState

    def start(self, node: str) -> PeakState:
        return PeakState()

    def receive(self, state: PeakState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.told.clear()
        for delivery in inbox:
            if isinstance(delivery.letter, HighestNow):
                if delivery.letter.value is None:
                    state.told.drop(delivery.sender)
                else:
                    state.told.set(delivery.sender, delivery.letter.value)
        return ()

    def answers(self, state: PeakState, moment: Moment) -> Answers:
        if not len(state.told):
            return Answers.of()
        estimate, slack = max(state.told.values()) / self.ask.scale, float(self.ask.params.slack)
        # What a missing site has seen last may have left its window by now.
        partial = self.ask.window.length is not None and bool(moment.missing)
        row = Answer(COORDINATOR, moment.end, "", None, estimate, estimate - slack, estimate + slack, partial=partial)
        return Answers.of([row])

    def certificate(self, state: PeakState, moment: Moment) -> str:
        return (
            f"The coordinator holds the last highest reading that {len(state.told):,} sites sent. A site sends its own"
            " again as soon as it differs from that by more than the slack."
        )


class Told(Method):
    """A site keeps the slack to itself."""

    name, question, letters = "told", Peak(), (HighestNow,)
    needs_expiring = False
    keeps_slack: ClassVar[bool] = True

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site, self.inner = PeakSite(ask, self.keeps_slack), PeakCoordinator(ask)


class EveryChange(Told):
    """The baseline: every change is told."""

    name = "every-change"
    keeps_slack = False
