"""Constraints: what the coordinator and a site remember, and both invariants."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class ConstraintsCoordinatorState(Image, tag=13, version=1):
    """The members, all factors, and the number of the last factors that each site got.

    `held` are the coordinator's own factors by object, `factors` the sites' by (site, object). `slacks` is the
    certificate: by node, how far the lowest member lay above the highest outsider when factors were last spread
    over it; the coordinator's is that of Invariant 2. `unproved` says that, sites being missing, no bound is known.
    `told` holds members' sums as last heard, by (site, object), `fresh` the pairs heard of in this epoch.
    For the smallest, where all items must be known, `names` are those of the roster's sites, `named` says by
    (site, item) who has seen what, and `unheard` which missing sites do not know all names.
    """

    period: int = 0
    started: bool = False
    unproved: bool = False
    members: list[str] = field(default_factory=list)
    held: Tally = field(default_factory=Tally)
    factors: Tally = field(default_factory=Tally)
    numbers: dict[str, int] = field(default_factory=dict)
    last_number: int = 0
    largest_total: int = 0
    slacks: dict[str, int] = field(default_factory=dict)
    told: Tally = field(default_factory=Tally)
    fresh: list[tuple[str, str]] = field(default_factory=list)
    names: Tally = field(default_factory=Tally)
    named: Tally = field(default_factory=Tally)
    unheard: list[str] = field(default_factory=list)

    def next_number(self, site: str) -> int:
        self.last_number += 1
        self.numbers[site] = self.last_number
        return self.last_number

    def wrong_sums(self) -> list[str]:
        """Invariant 1: the factors of every object sum to 0. Those whose do not."""
        sums: dict[str, int] = dict(self.held.items())
        for (_, name), factor in self.factors.items():
            sums[name] = sums.get(name, 0) + factor
        return [f"the factors of {name[:80]!r} sum to {total}" for name, total in sums.items() if total]


@dataclass(slots=True)
class ConstraintsSiteState(Image, tag=12, version=1):
    """A site's sums and factors, the members, and the number of the last factors it got (0: none yet).

    `elsewhere` are the items that only others have seen, where all must be known (the smallest).
    `relieved` says that the site has handed a fall on, or taken one over, in this epoch. `asked` holds the
    objects that the resolution under way is about, as far as the site has told of them.
    """

    node: str
    period: int = 0
    number: int = 0
    members: list[str] = field(default_factory=list)
    sums: Tally = field(default_factory=Tally)
    elsewhere: Tally = field(default_factory=Tally)
    factors: Tally = field(default_factory=Tally)
    rate: int = 0
    relieved: bool = False
    asked: list[str] = field(default_factory=list)
