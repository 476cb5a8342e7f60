"""Two baselines: every site's array in every epoch, and every event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Image, Ints
from monitoring_lib.methods import Ask, InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.geometric.self_join.answers import size_row
from monitoring_lib.protocols.geometric.self_join.arrays import SiteArrays, cells_of
from monitoring_lib.protocols.geometric.self_join.letters import Array
from monitoring_lib.protocols.geometric.self_join.question import sizes_of
from monitoring_lib.protocols.geometric.self_join.state import SiteState
from monitoring_lib.protocols.geometric.updates import CollectingCoordinator, CollectingState
from monitoring_lib.protocols.geometric.window import squares
from monitoring_lib.tick_counts import TickCounts


class ArraysSite(SiteRole[SiteState]):
    """Sends its array in every epoch."""

    State = SiteState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.arrays = SiteArrays(ask)

    def start(self, node: str) -> SiteState:
        return SiteState(node)

    def observe(self, state: SiteState, moment: Moment, arriving: TickCounts, expiring: Any) -> Iterable[Post]:
        self.arrays.take(state, moment, arriving)
        yield Post(COORDINATOR, self.arrays.letter(state, moment), "every epoch")


@dataclass(slots=True)
class SizeState(Image, tag=22, version=1):
    """The self-join size of the arrays that came last."""

    size: float = 0.0


class ArraysCoordinator(InnerRole[SizeState]):
    """Adds up the arrays of the epoch: the estimate is f itself."""

    State = SizeState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.sizes = sizes_of(ask)

    def start(self, node: str) -> SizeState:
        return SizeState()

    def receive(self, state: SizeState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        arrays = [cast(Array, delivery.letter) for delivery in inbox]
        state.size = float(self._joined(arrays) if self.sizes.rows is None else self._smallest(arrays))
        return ()

    def answers(self, state: SizeState, moment: Moment) -> Answers:
        return size_row(self.ask, self.sizes, moment, state.size, 0.0)

    def certificate(self, state: SizeState, moment: Moment) -> str:
        return "Every site sends its whole array in every epoch; the size is that of their sum."

    def _joined(self, arrays: Sequence[Array]) -> int:
        sums: dict[str, int] = {}
        for array in arrays:
            for name, count in zip(array.names, array.counts.tolist(), strict=True):
                sums[name] = sums.get(name, 0) + count
        return sum(count * count for count in sums.values())

    def _smallest(self, arrays: Sequence[Array]) -> int:
        assert self.sizes.rows is not None
        total: Ints = np.zeros(self.sizes.rows.cells, np.int64)
        for array in arrays:
            total += cells_of(array, len(total))
        return min(squares(row) for row in total.reshape(self.sizes.depth, -1))


class SizeOfUpdates(CollectingCoordinator):
    """The true self-join size, from every event."""

    def answers(self, state: CollectingState, moment: Moment) -> Answers:
        size = float(squares(self.counted(state, moment)[1]))
        return Answers.of([Answer(COORDINATOR, moment.end, "", None, size, size, size, 1.0, bool(moment.missing))])
