"""States in this process, and how the tables hold them: what has to be stored of each, and when as a whole."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from monitoring_lib.codec import Image, encode
from monitoring_lib.states import Kept, Mark, keep, mark, restore

_MOST_EPOCHS = 32
"""A state that changes is stored whole again once its last base is this many epochs old, or up to twice as many.

So no state is restored from more rows than that, however long the chain is.
"""


@dataclass
class Memory:
    """States by node, and for each how its rows hold it, by which a change of it is seen."""

    states: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, Mark] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    """The epoch of each state's last base."""

    def hold(self, node: str, kind: type[Image], rows: Sequence[Kept], base: int) -> None:
        """The state that the rows hold, the first of them of epoch `base`: changes count from here."""
        self.states[node] = restore(kind, rows)
        self.stored[node] = mark(self.states[node], rows)
        self.bases[node] = base

    def changed(self, node: str, state: Any, epoch: int) -> Kept | None:
        """What must be stored of the state after an epoch; from then on it counts as stored."""
        kept = keep(state, self.stored.get(node))
        if kept is None:
            return None
        if kept.form == "change" and epoch - self.bases[node] >= _oldest(node):
            kept = replace(kept, form="base", payload=encode(state))
        if kept.form == "base":
            self.bases[node] = epoch
        self.stored[node] = mark(state, [kept], self.stored.get(node))
        return kept


def oldest_base() -> int:
    """A change continues no base that is as many epochs old."""
    return 2 * _MOST_EPOCHS


def _oldest(node: str) -> int:
    """Not the same for all nodes, so that they are not all stored whole in the same epoch."""
    return _MOST_EPOCHS + zlib.crc32(node.encode()) % _MOST_EPOCHS
