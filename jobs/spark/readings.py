"""What the JVM keeps of the values of a key, and the measures that follow from it.

Sums are exact: a value's upper and lower 32 bits are summed apart, which neither overflows nor needs decimals,
and put together afterwards. One that does not fit into 64 bits is an error of the intake that asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.spark.event_columns import EventColumns
from jobs.spark.groupings import Grouping
from monitoring_lib.errors import DataError
from monitoring_lib.summaries import Measure, Reduction, rounded_means

if TYPE_CHECKING:
    from pyspark.sql import Column

_LOWER = 0xFFFFFFFF
_LEAST = -(2**63)
"""Its amount has no place among the positive numbers, so that synopses refuse it too."""
_ORDER = ("time", "path", "line")


@dataclass(frozen=True)
class WantedReductions:
    """The reductions wanted of each value column; columns are numbered in the order of their names."""

    wanted: Mapping[str, frozenset[Reduction]]

    @classmethod
    def of(cls, groupings: Iterable[Grouping]) -> WantedReductions:
        wanted: dict[str, set[Reduction]] = {}
        for grouping in groupings:
            for intake in grouping.intakes:
                measure = intake.summary.measure
                if measure.column:
                    wanted.setdefault(measure.column, set()).add(measure.reduction)
        return cls({column: frozenset(wanted[column]) for column in sorted(wanted)})

    @property
    def ordered(self) -> bool:
        """Whether the events' order in time matters."""
        return any("last" in reductions for reductions in self.wanted.values())

    def number(self, column: str) -> int:
        return list(self.wanted).index(column)

    def carried(self, events: EventColumns) -> list[Column]:
        """What of an event the aggregates need."""
        from pyspark.sql import functions as F

        values = [events.reading(column).alias(f"value{at}") for at, column in enumerate(self.wanted)]
        return [*values, *(map(F.col, _ORDER) if self.ordered else ())]

    def aggregates(self) -> list[Column]:
        from pyspark.sql import functions as F

        made: list[Column] = []
        for at, reductions in enumerate(self.wanted.values()):
            value = F.col(f"value{at}")
            made.append(F.count(value).alias(f"count{at}"))
            if reductions & {"sum", "mean"}:
                made.append(F.sum(F.shiftright(value, 32)).alias(f"high{at}"))
                made.append(F.sum(value.bitwiseAND(F.lit(_LOWER))).alias(f"low{at}"))
            if "last" in reductions:
                made.append(F.max_by(value, F.when(value.isNotNull(), F.struct(*_ORDER))).alias(f"last{at}"))
            if "min" in reductions:
                made.append(F.min(value).alias(f"min{at}"))
            if "max" in reductions:
                made.append(F.max(value).alias(f"max{at}"))
        return made

    def reduced(
        self, measure: Measure, groups: pa.RecordBatch, describe: Callable[[int], str]
    ) -> tuple[pa.Array, pa.Array]:
        """The measure of each group and how many events it is of; `describe` names a group in an error.

        Every group must have a reading.
        """
        if not measure.column:
            return groups["events"], groups["events"]
        at = self.number(measure.column)
        counts = groups[f"count{at}"]
        if measure.reduction not in ("sum", "mean"):
            return groups[f"{measure.reduction}{at}"], counts
        high, low = (groups[f"{part}{at}"].to_numpy() for part in ("high", "low"))
        if measure.reduction == "sum":
            return pa.array(_sums(high, low, describe)), counts
        return pa.array(_means(high, low, counts.to_numpy())), counts


def _fits(high: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (high >= -(2**31)) & (high < 2**31)


def _sums(high: NDArray[np.int64], low: NDArray[np.int64], describe: Callable[[int], str]) -> NDArray[np.int64]:
    carried = high + (low >> 32)
    sums: NDArray[np.int64] = (carried << 32) | (low & _LOWER)
    wide = np.flatnonzero(~_fits(carried) | (sums == _LEAST))
    if len(wide):
        at = int(wide[0])
        total = (int(high[at]) << 32) + int(low[at])
        raise DataError(f"the sum of {describe(at)} is {total}, which does not fit into 64 bits; choose a lower scale")
    return sums


def _means(high: NDArray[np.int64], low: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    carried = high + (low >> 32)
    if _fits(carried).all():
        return rounded_means((carried << 32) | (low & _LOWER), counts)
    totals = np.array([(int(up) << 32) + int(down) for up, down in zip(high, low, strict=True)], object)
    return rounded_means(totals, counts)
