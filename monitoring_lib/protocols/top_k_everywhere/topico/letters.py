"""The letter of TOPiCo: a site's candidate list, or what has changed in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.network import Letter


@dataclass(slots=True)
class Candidates(Letter, tag=1, version=1):
    """Items with the sender's sums. The first `own` it names on its own account, the others answer other sites.

    `largest_unlisted` bounds the sender's sum of every item that it does not list. `whole` replaces the list held so
    far, else these entries change it and `dropped` leave it.
    """

    names: list[str]
    sums: list[int]
    own: int
    largest_unlisted: int
    dropped: list[str] = field(default_factory=list)
    whole: bool = False

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sums) or not 0 <= self.own <= len(self.names):
            raise ValueError(f"own: {self.own} of {len(self.names)} names with {len(self.sums)} sums")

    @property
    def entries(self) -> int:
        """Pairs of an item and its sum, and items that leave; the bound is a single number and no pair."""
        return len(self.names) + len(self.dropped)
