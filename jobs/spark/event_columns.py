"""The columns of `events` as expressions name them: texts, values, and the keys of an intake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from jobs.spark.expressions import SparkValues, to_column, to_condition
from monitoring_lib.epochs import Clock
from monitoring_lib.expressions import parse, parse_condition

if TYPE_CHECKING:
    from pyspark.sql import Column

_TEXTS = ("site", "item")
_SIGN = -(2**63)


@dataclass(frozen=True)
class EventColumns:
    """A source's events: `scales` names its value columns, `clock` counts its epochs."""

    clock: Clock
    scales: Mapping[str, int]

    def text(self, expression: str) -> Column:
        return to_column(parse(expression), lambda name: self._found(name).column)

    def tick(self, length: int) -> Column:
        """The tick's number, counted from the origin. Ticks divide epochs, so no epoch is needed."""
        from pyspark.sql import functions as F

        since = F.unix_micros("time") - F.lit(self.clock.origin)
        return F.call_function("div", since, F.lit(length).cast("bigint"))

    def reading(self, column: str) -> Column:
        """A value column; null is no reading."""
        from pyspark.sql import functions as F

        return F.col("value") if column == "value" else F.col("values")[column]

    def counted(self, where: str, keys: list[Column]) -> Column | None:
        """Whether an event is counted: `where` is true and no key is null. None if all events are."""
        conditions = [key.isNotNull() for key in keys]
        if where:
            conditions.insert(0, to_condition(parse_condition(where), self._found))
        return reduce(lambda one, other: one & other, conditions) if conditions else None

    def _found(self, name: str) -> SparkValues:
        from pyspark.sql import functions as F

        if name in self.scales:
            return SparkValues(self.reading(name), "number", self.scales[name])
        return SparkValues(F.col(name) if name in _TEXTS else F.col("fields")[name])


def ordered_hash(*texts: Column) -> Column:
    """XXH64 of texts as a signed number with the order of the unsigned one: `unsigned` takes it back."""
    from pyspark.sql import functions as F

    return F.xxhash64(*texts).bitwiseXOR(F.lit(_SIGN))
