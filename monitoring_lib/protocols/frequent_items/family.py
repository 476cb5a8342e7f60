"""What the methods of this family have in common."""

from __future__ import annotations

from typing import Any

from monitoring_lib.methods import Ask, InnerRole, Method, Role
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.frequent_items.question import FrequentItems
from monitoring_lib.protocols.frequent_items.trees import tree_of
from monitoring_lib.topology import Roster, Topology


class FrequentItemsMethod(Method):
    """A method whose sites are the leaves of a tree, and whose root alone remembers counts."""

    question = FrequentItems()
    needs_expiring = False

    root: InnerRole[Any]

    def placement(self) -> tuple[str, ...]:
        return self.ask.params.tree.levels or ()

    def topology(self, roster: Roster) -> Topology:
        return tree_of(self.ask.params.tree, roster)

    def role(self, node: str) -> Role[Any]:
        assert self.inner is not None
        return self.root if node == COORDINATOR else self.inner

    def most_rounds(self, sites: int) -> int:
        """Up the tree once, and down once; given branches may be longer than there are sites."""
        parents = self.ask.params.tree.parents or ()
        return 2 * (sites + len(parents) + len(self.placement())) + 10

    def continues(self, before: Ask) -> bool:
        """The support and the tree may change at any time, the error only upwards: what is lost stays lost."""
        now, then = self.ask, before
        return (
            (now.window, now.measure, now.scale) == (then.window, then.measure, then.scale)
            and now.params.decay == then.params.decay
            and now.params.error >= then.params.error
        )
