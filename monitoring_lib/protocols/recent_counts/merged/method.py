"""Merged sketches: every site keeps an ECM sketch of its own; together they are one of all events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.hashing import hash_text
from monitoring_lib.methods import Ask, Keys, Method, Role
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.recent_counts.merged.coordinator import MergingCoordinator
from monitoring_lib.protocols.recent_counts.merged.design import Design
from monitoring_lib.protocols.recent_counts.merged.letters import Sketched
from monitoring_lib.protocols.recent_counts.merged.node import MergingNode
from monitoring_lib.protocols.recent_counts.merged.site import SketchingSite
from monitoring_lib.protocols.recent_counts.question import RecentCounts
from monitoring_lib.topology import Roster, Star, Topology, Tree

MOST_NUMBERS = 1 << 25
"""64-bit numbers that the empty sketches of one site may take: 256 MiB."""


class MergedOptions(Keys):
    """How the sketches are made and merged."""

    counter: Literal["eh", "dw", "rw"] = Field(
        default="eh", description="of a sketch's cells: exponential histogram, deterministic wave, randomised wave"
    )
    levels: int = Field(default=1, ge=1, le=16, description="levels of merges; 1: directly at the coordinator")
    branches: int = Field(default=2, ge=2, le=64, description="with several levels: children of each inner node above")
    every: int = Field(default=1, ge=1, description="epochs from one merge to the next")
    seed: int = Field(default=0, description="of the hashes, and of the coins of randomised waves")


class Merged(Method):
    """One sketch for items, one for each level of blocks of whole numbers; merged without bringing events together.

    With several levels a site belongs to an inner node by its name alone, so that no site changes its parent when
    others join or leave, and the last sketch of a missing site stays where it is.
    """

    name = "merged"
    question = RecentCounts()
    Options = MergedOptions
    letters = (Sketched,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.design = Design.of(ask)
        self.site = SketchingSite(ask, self.design)
        self.node, self.root = MergingNode(ask, self.design), MergingCoordinator(ask, self.design)

    def topology(self, roster: Roster) -> Topology:
        levels, branches = self.ask.options.levels, self.ask.options.branches
        if levels == 1:
            return Star(roster.sites)
        parents: dict[str, str] = {}
        for site in roster.nodes:
            child, group = site, hash_text(site) % branches ** (levels - 1)
            for level in range(1, levels):
                parents[child] = child = f"@tree/{level}/{group}"
                group //= branches
            parents[child] = COORDINATOR
        return Tree(parents)

    def role(self, node: str) -> Role[Any]:
        return self.root if node == COORDINATOR else self.node

    def continues(self, before: Ask) -> bool:
        """Other queries, another rhythm: as long as the sketches are made alike."""
        return (
            (before.epoch, before.tick, before.window, before.params.bits, before.options.branches)
            == (self.ask.epoch, self.ask.tick, self.ask.window, self.ask.params.bits, self.ask.options.branches)
            and Design.of(before) == self.design
            and _remembers(before) >= _remembers(self.ask)
        )

    def faults(self) -> Iterable[KeyFault]:
        params, options = self.ask.params, self.ask.options
        if options.counter == "rw" and params.of_kind("self_join"):
            yield KeyFault(
                ("options", self.name, "counter"),
                "randomised waves promise nothing for a self-join, which reads every cell",
                "take `counter: eh` or `dw`, or leave the self-join out",
            )
        elif self.design.numbers > MOST_NUMBERS:
            yield KeyFault(
                ("error",), f"sketches for {params.error:g} take {self.design.numbers * 8 / 2**20:,.0f} MiB a site",
                "allow a larger error, fewer `bits`, fewer levels, or `counter: eh`",
            )  # fmt: skip


def _remembers(ask: Ask) -> int:
    """Ticks for which sites keep the names of items."""
    return max((query.ticks(ask) for query in ask.params.of_kind("heavy_hitters")), default=0)
