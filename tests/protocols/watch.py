"""One method over epochs, with everything that it published, sent and was judged for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from monitoring_lib.answers import Answer, Verdict
from monitoring_lib.epochs import Clock
from monitoring_lib.methods import Method
from monitoring_lib.replay import Replay

EPOCH = 60_000_000


class Watch:
    """The rows of the last epoch, by key; the verdicts and messages of all epochs."""

    def __init__(self, method: Method, sites: Collection[str] = ()) -> None:
        self.method = method
        self.replay = Replay(Clock(0, EPOCH), [method], sites)
        self.epoch = 0
        self.verdicts: list[Verdict] = []
        self.messages: list[Any] = []
        self.rows: dict[str, Answer] = {}

    def take(self, synopses: Mapping[str, Any], missing: Collection[str]) -> dict[str, Answer]:
        """An epoch with these synopses, by site; the rows that were published, by key."""
        summary = self.replay.summaries[0]
        (step,) = self.replay.step(self.epoch, dict.fromkeys(synopses, ()), {summary: synopses}, missing)
        self.epoch += 1
        self.verdicts += step.verdicts
        self.messages += step.settled.messages
        self.rows = {row.key: row for row in step.settled.answers}
        return self.rows
