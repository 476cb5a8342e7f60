"""Runs a method of duplication over streams of events, with its states open to the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from monitoring_lib.answers import Answer, Verdict
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.duplication.question import Asked, DuplicationParams
from monitoring_lib.replay import Replay
from monitoring_lib.synopses.counts import Counts

EPOCH = 60_000_000
EVERYTHING = Asked(distinct=True, once=True, quantiles=(0.5, 0.9), shares={"short": "length(item) < 4"})


def ask_of(
    kind: type[Method], sample: int = 20, lag: str = "0.1", seed: int = 0, asked: Asked = EVERYTHING,
    window: Window | None = None, confidence: float = 0.95,
) -> Ask:  # fmt: skip
    params = DuplicationParams(sample=sample, lag=Decimal(lag), ask=asked)
    return Ask(
        params, kind.Options(seed=seed), window or Window(), epoch=EPOCH, tick=EPOCH, confidence=confidence
    )  # fmt: skip


class Watch:
    """One method over epochs; `truth` holds the exact counts of what the sites took in."""

    def __init__(self, kind: type[Method], sites: Collection[str] = (), **said: Any) -> None:
        self.method = kind(ask_of(kind, **said))
        self.replay = Replay(Clock(0, EPOCH), [self.method], sites)
        self.epoch = 0
        self.truth: Counter[str] = Counter()
        self.verdicts: list[Verdict] = []
        self.messages: list[Any] = []
        self.rows: dict[str, Answer] = {}

    def step(self, events: Mapping[str, Sequence[str]], missing: Collection[str] = ()) -> dict[str, Answer]:
        """An epoch with these items at each site; the rows that were published, by key."""
        for site, items in events.items():
            if site not in missing:
                self.truth.update(items)
        synopses = {site: Counts.of(list(items)) for site, items in events.items()}
        summary = self.replay.summaries[0]
        (step,) = self.replay.step(self.epoch, dict.fromkeys(events, ()), {summary: synopses}, missing)
        self.epoch += 1
        self.verdicts += step.verdicts
        self.messages += step.settled.messages
        self.rows = {row.key: row for row in step.settled.answers}
        return self.rows

    @property
    def coordinator(self) -> Any:
        return self.replay._networks[self.method.name].inner.states[COORDINATOR]

    @property
    def sample(self) -> dict[str, int]:
        return dict(self.coordinator.sample.items())

    def site(self, name: str) -> Any:
        return self.replay._networks[self.method.name].sites.states[name]
