"""A number that all sites use at the end of an epoch, but those that were not there to hear of its change."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.methods import Moment


@dataclass(slots=True)
class Lagging(Image, tag=4, version=1):
    """`common` at every site that was present in the last epoch; the others' as of when they last were."""

    common: int = 0
    others: dict[str, int] = field(default_factory=dict)

    def enter(self, moment: Moment, number: int) -> None:
        """The number of this epoch, which its present sites use from now on."""
        for node in moment.missing:
            self.others.setdefault(node, self.common)
        for node in [node for node in self.others if node not in moment.missing]:
            del self.others[node]
        self.common = number

    def forget(self) -> None:
        """After a reset nobody uses a number until it is present again."""
        self.common, self.others = 0, {}

    def of(self, node: str) -> int:
        return self.others.get(node, self.common)

    def sum(self, moment: Moment) -> int:
        """Over all sites of the roster."""
        return sum(self.of(node) for node in moment.sites)
