"""Runs a method of duplication over streams of events, with its states open to the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from monitoring_lib.answers import Answer
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.duplication.question import Asked, DuplicationParams
from monitoring_lib.synopses.counts import Counts
from tests.protocols.watch import EPOCH, Watch

EVERYTHING = Asked(distinct=True, once=True, quantiles=(0.5, 0.9), shares={"short": "length(item) < 4"})


def ask_of(
    kind: type[Method], sample: int = 20, lag: str = "0.1", seed: int = 0, asked: Asked = EVERYTHING,
    window: Window | None = None, confidence: float = 0.95,
) -> Ask:  # fmt: skip
    params = DuplicationParams(sample=sample, lag=Decimal(lag), ask=asked)
    return Ask(
        params, kind.Options(seed=seed), window or Window(), epoch=EPOCH, tick=EPOCH, confidence=confidence
    )  # fmt: skip


class SampleWatch(Watch):
    """`truth` holds the exact counts of what the sites took in."""

    def __init__(self, kind: type[Method], sites: Collection[str] = (), **said: Any) -> None:
        super().__init__(kind(ask_of(kind, **said)), sites)
        self.truth: Counter[str] = Counter()

    def step(self, events: Mapping[str, Sequence[str]], missing: Collection[str] = ()) -> dict[str, Answer]:
        """An epoch with these items at each site; the rows that were published, by key."""
        for site, items in events.items():
            if site not in missing:
                self.truth.update(items)
        return self.take({site: Counts.of(list(items)) for site, items in events.items()}, missing)

    @property
    def coordinator(self) -> Any:
        return self.replay._networks[self.method.name].inner.states[COORDINATOR]

    @property
    def sample(self) -> dict[str, int]:
        return dict(self.coordinator.sample.items())

    def site(self, name: str) -> Any:
        return self.replay._networks[self.method.name].sites.states[name]
