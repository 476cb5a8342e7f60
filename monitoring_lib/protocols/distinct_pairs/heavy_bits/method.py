"""Shared bits for heavy hitters.

Cormode, Muthukrishnan and Zhuang, What's Different: Distributed, Continuous Monitoring of Duplicate-Resilient
Aggregates on Data Streams, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.distinct_pairs.heavy_bits.coordinator import ArrayCoordinator
from monitoring_lib.protocols.distinct_pairs.heavy_bits.letters import NewBits
from monitoring_lib.protocols.distinct_pairs.heavy_bits.site import BitsSite
from monitoring_lib.protocols.distinct_pairs.heavy_bits.sizes import ROWS, layout_of, least_bitmaps, least_cells
from monitoring_lib.protocols.distinct_pairs.heavy_question import DistinctHeavyHitters

_LARGEST_CODE = 1 << 62


class ArrayOptions(Keys):
    """The size of the array; what is not said is chosen for the promise."""

    seed: int = Field(default=0, description="of the hashes")
    rows: int | None = Field(default=None, ge=1, le=16, description="rows of the array")
    cells: int | None = Field(default=None, ge=1, lt=1 << 31, description="cells of a row")
    bitmaps: int | None = Field(default=None, ge=1, lt=1 << 31, description="bitmaps of a cell")


class HeavyBits(Method):
    """A site tells (item, bits) when a pair of the item sets a bit of its array in any row."""

    name = "shared-bits"
    question = DistinctHeavyHitters()
    Options = ArrayOptions
    letters = (NewBits,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.layout = layout_of(ask)
        self.site = BitsSite(ask, self.layout)
        self.inner = ArrayCoordinator(ask, self.layout)

    def faults(self) -> Iterable[KeyFault]:
        options, bitmaps = self.ask.options, least_bitmaps(self.ask)
        cells = least_cells(self.ask, options.rows or ROWS)
        if options.bitmaps is not None and options.bitmaps < bitmaps:
            yield self._fault("bitmaps", options.bitmaps, bitmaps)
        if options.cells is not None and options.cells < cells:
            yield self._fault("cells", options.cells, cells)
        if self.layout.rows * self.layout.cells * self.layout.bits > _LARGEST_CODE:
            yield KeyFault(("error",), "needs an array of more than 2^62 bits", "choose a larger error")

    def _fault(self, option: str, found: int, least: int) -> KeyFault:
        params = self.ask.params
        return KeyFault(
            ("options", self.name, option),
            f"{found} are too few for share {params.share}, error {params.error} and confidence {self.ask.confidence}",
            f"write {least} or more, or leave it out",
        )

    def most_rounds(self, sites: int) -> int:
        return 2

    def continues(self, before: Ask) -> bool:
        return before.window == self.ask.window and layout_of(before) == self.layout
