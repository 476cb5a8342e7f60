"""Bounds: lists that say how far they can be off, instead of counts that are lowered. Ours; the default.

A leaf of Manjhi and others' tree ("Finding (Recently) Frequent Items in Distributed Data Streams", ICDE 2005) lowers
every count by what may be lost, so that the parent cannot tell what was lost from what never was. Here a node sends
counts as they are, and beside them two numbers for the whole list. So an item that is listed by all children
loses nothing, and only what could exceed the error anywhere below travels on.
"""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.methods import Ask, Keys
from monitoring_lib.protocols.frequent_items.bounds.letters import Bounded
from monitoring_lib.protocols.frequent_items.bounds.merging import Send
from monitoring_lib.protocols.frequent_items.bounds.node import BoundsNode
from monitoring_lib.protocols.frequent_items.bounds.root import BoundsRoot
from monitoring_lib.protocols.frequent_items.bounds.site import BoundsSite
from monitoring_lib.protocols.frequent_items.family import FrequentItemsMethod


class BoundsOptions(Keys):
    """Raw counts give the smaller errors, upper bounds never a longer list than lowered counts would."""

    send: Send = Field(default="raw", description="what lists hold: sums as they arrived, or upper bounds of them")


class Bounds(FrequentItemsMethod):
    """Whole numbers up to the root; nothing is sent downwards."""

    name = "bounds"
    Options = BoundsOptions
    letters = (Bounded,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site, self.inner, self.root = BoundsSite(ask), BoundsNode(ask), BoundsRoot(ask)
