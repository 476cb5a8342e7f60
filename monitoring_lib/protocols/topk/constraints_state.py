"""What the coordinator of `constraints` remembers, and both invariants of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.highest import Highest
from monitoring_lib.tally import Tally

Turns = Generator[list[Post], Sequence[Delivery], None]
"""An epoch at the coordinator: what it posts in a turn, and the inbox of its next one."""


@dataclass(slots=True)
class ConstraintsCentre(Image, tag=13, version=1):
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
    above_zero: Highest | None = field(default=None, init=False, compare=False, repr=False)
    epoch: int | None = field(default=None, init=False, compare=False, repr=False)
    turns: Turns | None = field(default=None, init=False, compare=False, repr=False)

    def factor(self, node: str, name: str) -> int:
        factor: int = self.held.get(name) if node == COORDINATOR else self.factors.get((node, name))
        return factor

    def set_factor(self, node: str, name: str, factor: int) -> None:
        tally, key = (self.held, name) if node == COORDINATOR else (self.factors, (node, name))
        if factor:
            tally.set(key, factor)
        else:
            tally.drop(key)
        if node == COORDINATOR and self.above_zero is not None:
            self.above_zero.set(name, factor)

    def next_number(self, site: str) -> int:
        self.last_number += 1
        self.numbers[site] = self.last_number
        return self.last_number

    def forget_site(self, site: str) -> None:
        """A site that has left counts 0 for every object: its factors become the coordinator's."""
        del self.numbers[site]
        self.slacks.pop(site, None)
        self.unheard = [node for node in self.unheard if node != site]
        for (node, name), factor in list(self.factors.items()):
            if node == site:
                self.factors.drop((node, name))
                self.set_factor(COORDINATOR, name, self.held.get(name) + factor)
        for node, name in list(self.told):
            if node == site:
                self.told.drop((node, name))

    def forget_names(self, gone: set[str]) -> None:
        """Items that only sites that have left had seen."""
        for name in gone:
            self.names.drop(name)
            self.set_factor(COORDINATOR, name, 0)
        for pair in [pair for pair in self.factors if pair[1] in gone]:
            self.factors.drop(pair)
        self.members = [name for name in self.members if name not in gone]

    def forget_all(self) -> None:
        """After a reset."""
        self.started, self.unproved, self.members = False, False, []
        self.numbers, self.slacks, self.unheard, self.fresh, self.above_zero = {}, {}, [], [], None
        for tally in (self.held, self.factors, self.told, self.names, self.named):
            tally.clear()

    def highest_held_outside(self, apart: set[str], nameless: bool) -> int | None:
        """The largest of the coordinator's factors of all objects but these; None if there are no others."""
        if nameless:  # whose factor is 0, so that only those above count
            return self.held_above_zero().outside(apart)
        return max((self.held.get(name) for name in self.names if name not in apart), default=None)

    def held_above_zero(self) -> Highest:
        """The coordinator's own factors that are above 0."""
        if self.above_zero is None:
            self.above_zero = Highest(self.held.items())
        return self.above_zero

    def shortfall(self, nameless: bool) -> int:
        """The least tolerance under which Invariant 2 holds: no outsider's factor exceeds a member's by more."""
        if not self.members:
            return 0
        highest = self.highest_held_outside(set(self.members), nameless)
        return 0 if highest is None else max(0, highest - min(self.held.get(name) for name in self.members))

    def wrong_sums(self) -> list[str]:
        """Invariant 1: the factors of every object sum to 0. Those whose do not."""
        sums: dict[str, int] = dict(self.held.items())
        for (_, name), factor in self.factors.items():
            sums[name] = sums.get(name, 0) + factor
        return [f"the factors of {name[:80]!r} sum to {total}" for name, total in sums.items() if total]
