"""What a site and the coordinator remember where everything is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class TellingState(Image, tag=10, version=1):
    """Nothing: a site forgets what it has told."""

    node: str


@dataclass(slots=True)
class AllCountsState(Image, tag=11, version=1):
    """The count of every item; from them how many items have each count, and how many satisfy each condition."""

    period: int = 0
    counts: Tally = field(default_factory=Tally)
    items_with: dict[int, int] = field(default_factory=dict)
    satisfying: dict[str, int] = field(default_factory=dict)
    conditions: dict[str, str] = field(default_factory=dict)
