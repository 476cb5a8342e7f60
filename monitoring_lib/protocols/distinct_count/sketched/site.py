"""A site that sketches: it reports what is new once that raises its count enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.distinct_count.sketched.form import Form
from monitoring_lib.protocols.distinct_count.sketched.letters import Count


class SketchSite(SiteRole[Any]):
    """Sends what is new once ``count(sketch) > count(told) * (1 + lag / sites)``; with lag 0 every new bit.

    Each site keeps back at most lag / sites of the coordinator's count, so that all together keep back at most lag.
    What is sent counts as told: an epoch ends when every message has been taken in, and is published as a whole or
    not at all. With a sliding window each epoch is told anew, and nothing is remembered.
    """

    def __init__(self, ask: Ask, form: Form[Any]) -> None:
        super().__init__(ask)
        self.form = form
        self.State = form.SiteState

    def start(self, node: str) -> Any:
        return self.State()

    def observe(self, state: Any, moment: Moment, arriving: Any, expiring: Any) -> Iterable[Post]:
        part = self.form.taken(arriving)
        if self.ask.window.length is not None:
            new = self.form.lacking(self.form.empty, part)
            return [] if new is None else [Post(COORDINATOR, self.form.report(0, new, part, state, arriving), "epoch")]
        if state.period != moment.period:
            for name, value in _fresh(self.State, moment.period):
                setattr(state, name, value)
        if self.form.lacking(state.sketch, part) is not None:
            self.form.note(state, arriving)
            state.sketch = self.form.union([state.sketch, part])
        return self._report(state, moment)

    def receive(self, state: Any, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            letter: Any = delivery.letter
            if isinstance(letter, Count):
                state.heard_count = letter.count
                continue
            if letter.version not in (0, state.version):
                raise ProtocolError(
                    f"the coordinator acknowledges version {letter.version} of a site that has sent {state.version}"
                )
            part = self.form.opened(letter)
            state.sketch = self.form.union([state.sketch, part])
            state.told = self.form.union([state.told, part])
        return self._report(state, moment)

    def _report(self, state: Any, moment: Moment) -> list[Post]:
        if state.told is state.sketch:  # nothing has come in since the last report: most sites, most epochs
            return []
        new = self.form.lacking(state.told, state.sketch)
        if new is None or not self.is_due(state, len(moment.sites)):
            return []
        state.version += 1
        state.told = state.sketch
        letter = self.form.report(state.version, new, state.sketch, state, None)
        return [Post(COORDINATOR, letter, "new")]

    def is_due(self, state: Any, sites: int) -> bool:
        """Whether what is new has raised the count enough."""
        lag: float = self.ask.options.lag
        if not lag:
            return True
        return self.form.estimate(state.sketch) > self.form.estimate(state.told) * (1 + lag / sites)


def _fresh(kind: type[Any], period: int) -> Iterable[tuple[str, Any]]:
    state = kind(period)
    return [(name, getattr(state, name)) for name in state.__dataclass_fields__]
