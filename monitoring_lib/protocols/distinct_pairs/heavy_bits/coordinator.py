"""The coordinator: the array of all sites, and the items whose number of partners it says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Names
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.distinct_pairs.heavy_bits.letters import NewBits
from monitoring_lib.protocols.distinct_pairs.heavy_bits.sizes import one_sided
from monitoring_lib.protocols.distinct_pairs.heavy_bits.state import ArrayState
from monitoring_lib.protocols.distinct_pairs.layout import Layout, estimates_by_cell, variances

_BIAS = 0.36
"""The bias of an estimate, relative, times the number of bitmaps."""
_STEPS = 12
CellEstimates = NDArray[np.float64]


class ArrayCoordinator(InnerRole[ArrayState]):
    """An item's estimate is the least of its cells': never below that of a sketch of its own pairs alone."""

    State = ArrayState

    def __init__(self, ask: Ask, layout: Layout) -> None:
        super().__init__(ask)
        self._layout = layout

    def start(self, node: str) -> ArrayState:
        return ArrayState()

    def receive(self, state: ArrayState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.bits.clear()
            state.names.clear()
        for delivery in inbox:
            letter = delivery.letter
            assert isinstance(letter, NewBits)
            at = np.repeat(np.arange(len(letter.names)), letter.counts)
            state.bits.add(self._layout.cells_of(letter.names)[:, at] * self._layout.bits + letter.bits)
            state.names.add_all(letter.names.tolist(), letter.counts.tolist())
        return ()

    def answers(self, state: ArrayState, moment: Moment) -> Answers:
        if not state.bits.used:
            return Answers.of([Answer(COORDINATOR, moment.end, "", None, 0, 0, 0)])
        reading = self._reading(state)
        confidence = self.ask.confidence
        rows = [Answer(COORDINATOR, moment.end, "", None, reading.total, *reading.total_bounds, confidence)]
        names = Names(sorted(state.names))
        estimates = reading.estimates(self._layout.cells_of(names))
        least = float(self.ask.params.share - self.ask.params.error / 2) * reading.total
        heavy = np.flatnonzero(estimates >= least)
        heavy = heavy[np.argsort(-estimates[heavy], kind="stable")]
        lows, highs = reading.bounds(estimates[heavy])
        found = zip(heavy.tolist(), estimates[heavy].tolist(), lows.tolist(), highs.tolist(), strict=True)
        for rank, (at, estimate, low, high) in enumerate(found, 1):
            rows.append(Answer(COORDINATOR, moment.end, names[at], rank, estimate, low, high, confidence))
        return Answers.of(rows)

    def certificate(self, state: ArrayState, moment: Moment) -> str:
        return (
            f"The coordinator holds {state.bits.used:,} bits in {self._layout.rows} rows of {self._layout.cells:,}"
            f" cells, and the names of {len(state.names):,} items. A pair sets the same bit wherever it is seen. An"
            " estimate is the least of the item's cells; its bounds are the spread of a cell and what other items may"
            " have put there."
        )

    def _reading(self, state: ArrayState) -> _ArrayReading:
        cells, estimates = estimates_by_cell(state.bits.codes(), self._layout.bitmaps)
        return _ArrayReading(self._layout, 1 - self.ask.confidence, cells, estimates)


@dataclass(frozen=True)
class _ArrayReading:
    """What the array says: the cells with any bit, counted through all rows, with their estimates."""

    layout: Layout
    failure: float
    cells: NDArray[np.int64]
    loads: CellEstimates

    @property
    def total(self) -> float:
        """The number of different pairs: the cells of a row add up to it."""
        return float(self.loads.sum() / self.layout.rows)

    @property
    def total_bounds(self) -> tuple[float, float]:
        """Cells hold different pairs, so their errors are independent."""
        first_row = self.loads[self.cells < self.layout.cells]
        spread = float(np.sqrt(variances(first_row, self.layout.bitmaps).sum()))
        reach = one_sided(self.failure / 2) * spread + _BIAS / self.layout.bitmaps * self.total
        low = max(np.ceil(self.total - reach - 0.5), 1.0)
        return float(min(low, self.total)), float(max(np.floor(self.total + reach + 1.5), self.total))

    def estimates(self, cells: NDArray[np.int64]) -> CellEstimates:
        """For items with these cells, row by row, the least estimate."""
        return np.asarray(self.loads[np.searchsorted(self.cells, cells)].min(axis=0))

    def bounds(self, estimates: CellEstimates) -> tuple[CellEstimates, CellEstimates]:
        """Half the failure is for each side; on the lower one, a quarter for the sketch and one for collisions."""
        bias, lows, highs = _BIAS / self.layout.bitmaps, estimates, estimates
        below, above = one_sided(self.failure / 4), one_sided(self.failure / 2)
        for _ in range(_STEPS):  # the n whose own deviation just reaches the estimate
            lows = np.maximum(estimates - below * self._spread(lows) - bias * lows - 0.5, 0.0)
            highs = estimates + above * self._spread(highs) + bias * highs + 1.5
        lows = np.maximum(np.ceil(lows - self._collisions()), 1.0)
        return np.minimum(lows, estimates), np.maximum(np.floor(highs), estimates)

    def _spread(self, numbers: CellEstimates) -> CellEstimates:
        return np.sqrt(variances(numbers, self.layout.bitmaps))

    def _collisions(self) -> float:
        """What other items put into the best of an item's cells, but for a quarter of the failure.

        An item's cells are drawn without regard to the others: in each row, the share of cells with a load of at
        least x is the chance that the item meets so much, and all rows must.
        """
        share = (self.failure / 4) ** (1 / self.layout.rows)
        meeting = int(share * self.layout.cells)
        most = 0.0
        for row in range(self.layout.rows):
            first, last = np.searchsorted(self.cells, (row * self.layout.cells, (row + 1) * self.layout.cells))
            loads = np.sort(self.loads[first:last])[::-1]
            most = max(most, float(loads[meeting]) if meeting < len(loads) else 0.0)
        return most
