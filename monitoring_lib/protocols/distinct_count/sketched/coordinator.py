"""The coordinator of sketches: it joins what it receives, publishes its count, and may tell sites what they lack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask, InnerRole, LookUp, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.distinct_count.question import limits
from monitoring_lib.protocols.distinct_count.ranges import epochs_asked
from monitoring_lib.protocols.distinct_count.sketched.form import Form


class SketchCoordinator(InnerRole[Any]):
    """Holds the union of all that was sent: in a growing window one, in a sliding one that of each epoch."""

    shares: ClassVar[bool] = False
    """Whether it tells sites what they lack, and so remembers what each one knows."""

    def __init__(self, ask: Ask, form: Form[Any]) -> None:
        super().__init__(ask)
        self.form = form
        self.State = form.CoordinatorState

    def start(self, node: str) -> Any:
        return self.State()

    def receive(self, state: Any, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if self.ask.window.length is not None:
            self._file(state, moment, inbox)
            return ()
        self._enter(state, moment)
        for delivery in inbox:
            self._take_in(state, delivery)
        return self.replies(state, moment, [delivery.sender for delivery in inbox])

    def _file(self, state: Any, moment: Moment, inbox: Sequence[Delivery]) -> None:
        """What the epoch's items tell. Epochs that have left the window are dropped when another one comes in."""
        if not inbox:
            return
        before = state.epochs.get(moment.epoch, self.form.empty)
        parts = [self.form.opened(delivery.letter) for delivery in inbox]
        held = self.ask.window.members(moment.epoch)
        state.epochs = {epoch: sketch for epoch, sketch in state.epochs.items() if epoch in held}
        state.epochs[moment.epoch] = self.form.union([before, *parts])

    def _enter(self, state: Any, moment: Moment) -> None:
        if state.period != moment.period:
            state.period, state.union, state.announced = moment.period, self.form.empty, 0.0
            for by_site in (state.versions, state.known, state.debts, state.rosters):
                by_site.clear()
        sites = set(moment.sites)
        for by_site in (state.versions, state.known, state.debts):
            for gone in by_site.keys() - sites:
                del by_site[gone]
        if self.ask.options.lag:
            state.rosters.update(dict.fromkeys(moment.present, len(moment.sites)))

    def _take_in(self, state: Any, delivery: Delivery) -> None:
        site, letter = delivery.sender, delivery.letter
        self._hear(state, site, letter.version)  # type: ignore[attr-defined]  # reports have one
        part = self.form.opened(letter)
        if self.shares:
            known = state.known.get(site, self.form.empty)
            new = self.form.lacking(known, part)
            if new is not None:
                self.count_doubled(state, site, new)
                state.known[site] = self.form.union([known, new])
        state.union = self.form.union([state.union, part])

    def _hear(self, state: Any, site: str, version: int) -> None:
        """Versions have no gap: what a site takes for told has all arrived. A site that begins anew knows nothing."""
        heard = state.versions.get(site, 0)
        if version == 1:
            state.known.pop(site, None)
            state.debts.pop(site, None)
        elif heard and version != heard + 1:
            raise ProtocolError(
                f"{site!r} sent version {version} where {heard + 1} was due: a message was lost or came twice"
            )
        state.versions[site] = version

    def count_doubled(self, state: Any, site: str, part: Any) -> None:
        """What a site has told, before it is joined."""

    def replies(self, state: Any, moment: Moment, senders: Sequence[str]) -> Iterable[Post]:
        """What the sites are told once a round's reports are in."""
        return ()

    def share(self, state: Any, site: str, part: Any) -> Post:
        """Tells a site a part of what it lacks."""
        state.known[site] = self.form.union([state.known.get(site, self.form.empty), part])
        return Post(site, self.form.reply(state.versions.get(site, 0), part, state.union), "lacking")

    def lacking_at(self, state: Any, site: str) -> Any | None:
        return self.form.lacking(state.known.get(site, self.form.empty), state.union)

    def answers(self, state: Any, moment: Moment) -> Answers:
        if self.ask.window.length is not None:
            return self._answer(moment, self._recent(state, moment, self.ask.window.length), 0.0)
        return self._answer(moment, state.union, self._lag(state))

    def certificate(self, state: Any, moment: Moment) -> str:
        held = "the union of what every site sent" if self.ask.window.length is None else "one union an epoch"
        return (
            f"The coordinator holds {held}: an item sets the same bits wherever and however often it is seen, so that"
            f" repeats change nothing. All sites together leave out at most {self._lag(state):.3g} of the count; the"
            " rest of the bounds is the spread of the sketch at this confidence."
        )

    def look_up(self, state: Any, moment: Moment, asked: LookUp) -> Answers:
        """The count of the last epochs of the window, as many as the range has."""
        return self._answer(moment, self._recent(state, moment, epochs_asked(self.ask, asked)), 0.0)

    def _recent(self, state: Any, moment: Moment, epochs: int) -> Any:
        first = moment.epoch - epochs + 1
        return self.form.union([state.epochs[at] for at in sorted(state.epochs) if first <= at <= moment.epoch])

    def _lag(self, state: Any) -> float:
        """What all sites together may keep back. A site that is missing does not know that the roster has grown."""
        lag: float = self.ask.options.lag
        rosters: dict[str, int] = state.rosters
        return sum(lag / rosters[site] for site in sorted(rosters))

    def _answer(self, moment: Moment, sketch: Any, lag: float) -> Answers:
        estimate, low, high = self.form.bounds(sketch, lag)
        partial = bool(moment.missing) and lag > self.ask.options.lag * (1 + 1e-9)
        if not partial:
            lowest, highest = limits(self.ask, estimate)
            low, high = max(low, lowest), min(high, highest)
        row = Answer(COORDINATOR, moment.end, "", None, estimate, low, high, self.ask.confidence, partial)
        return Answers.of([row])
