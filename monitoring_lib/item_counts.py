"""Exact sums by item: the summary of every question that asks about items, and the truth's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.names import Names
from monitoring_lib.summaries import Cell, Measure, Rows, Summary
from monitoring_lib.synopses.counts import Counts


@dataclass(frozen=True)
class ItemCounts(Summary):
    """Each item of a cell with the sum of its measure, exact."""

    reduced: Measure = Measure()  # noqa: RUF009  # it is frozen

    synopsis = Counts

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item",)

    @property
    def measure(self) -> Measure:
        return self.reduced

    def build(self, cell: Cell, rows: Rows) -> Counts:
        counted = pc.not_equal(rows.values, 0)
        rows = rows if pc.all(counted).as_py() else rows.filter(counted)
        return Counts(Names(rows.keys["item"]), np.array(rows.values))

    def rows_of(self, synopsis: Counts) -> Rows | None:
        if self.reduced != Measure():
            return None  # an item whose values sum to 0 is gone
        counts = pa.array(synopsis.sums)
        return Rows({"item": synopsis.names.column}, counts, counts)


def only_sums(measure: Measure) -> Iterator[KeyFault]:
    """A question about sums over epochs and sites cannot add up means, extremes or last values."""
    if measure.reduction not in ("count", "sum"):
        remedy = f"write count or sum({measure.column})"
        yield KeyFault(("measure",), f"{measure} cannot be added up over epochs and sites", remedy)
