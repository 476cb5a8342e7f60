"""Which summaries a set of monitors needs of a source, each made once however many monitors share it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from monitoring_lib.config import Monitor, Source
from monitoring_lib.methods import Summary
from monitoring_lib.protocols import find_question


@dataclass(frozen=True)
class Wanted:
    """A summary of a source's events: what is counted, by what, into which synopsis."""

    item: str
    measure: str
    summary: Summary

    @property
    def name(self) -> str:
        """The same for the same wish, so that later epochs and other monitors find what was made."""
        kind = self.summary.synopsis
        wish = [
            self.item,
            self.measure,
            self.summary.keys,
            kind.__name__,
            kind.VERSION,
            self.summary.parameters,
        ]
        digest = hashlib.sha256(json.dumps(wish).encode()).hexdigest()[:16]
        return f"{kind.__name__.lower()}-{digest}"


def wanted_by(monitor: Monitor, source: Source) -> Wanted:
    ask = monitor.ask(source.epoch, source.scale)
    return Wanted(monitor.item, monitor.measure, find_question(monitor.question).summary(ask))


def wanted_by_all(monitors: Iterable[Monitor], source: Source) -> list[Wanted]:
    wishes = {wish.name: wish for wish in (wanted_by(monitor, source) for monitor in monitors)}
    return [wish for _, wish in sorted(wishes.items())]
