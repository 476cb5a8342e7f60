"""A trouble: what is wrong, of whom, of which kind. The same one is told once as long as it lasts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from monitoring_lib.config.fields import Severity

TroubleKind = Literal[
    "site silent", "quality", "quarantine", "file refused", "answer partial", "promise broken", "integrity",
    "chain stale", "epoch overdue", "traffic", "rule",
]  # fmt: skip
Key = tuple[str, str, str, str]
"""Monitor ('' for the source), site, kind, and what else tells two of a kind apart."""


@dataclass(frozen=True)
class Trouble:
    """`about` tells troubles of one kind apart where there can be several: a file's path, a rule's text."""

    kind: TroubleKind
    epoch_start: int
    severity: Severity
    subject: str
    detail: str = ""
    monitor: str = ""
    site: str = ""
    about: str = ""

    @property
    def key(self) -> Key:
        return self.monitor, self.site, self.kind, self.about


@dataclass(frozen=True)
class Look:
    """What was wrong at one time, as far as it was looked for: of these kinds, and these monitors if any are named.

    Among the monitors '' stands for the source itself. `epoch_start` is the epoch whose end it speaks of, None for now:
    a look at an older epoch never overrules a newer one.
    """

    epoch_start: int | None
    kinds: Collection[str]
    troubles: Sequence[Trouble] = field(default_factory=list)
    monitors: Collection[str] = ()

    def covers(self, key: Key) -> bool:
        """Whether a trouble that is not among these is over."""
        monitor, _, kind, _ = key
        return kind in self.kinds and (not self.monitors or monitor in self.monitors)
