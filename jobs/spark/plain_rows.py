"""Rows of Parquet files as events, by expressions in the Java machine, for rows that are plain to read.

A row is plain where these expressions give what `jobs.input.reading` gives. All others (faulty ones, times and numbers
in rare spellings) are left to that: so nothing is read in two ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from jobs.spark.expressions import to_column
from monitoring_lib.config import Source
from monitoring_lib.expressions import ColumnName, Expression

if TYPE_CHECKING:
    from pyspark.sql import Column

_DAY = 86_400_000_000
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_BROKEN = ("float", "double")
_PLACES = {"auto": 6, "seconds": 6, "milliseconds": 3, "microseconds": 0}
_MOST = 2**62
"""Microseconds up to which nothing overflows."""
_EXACT_IN_DOUBLES = 2.0**53
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})\z"
_ISO = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?)?\z"
_DECIMAL = r"\A-?[0-9]{1,9}(\.[0-9]{1,9})?\z"


@dataclass(frozen=True)
class PlainRows:
    """The column `row` of a frame, whose fields are named and typed as `kinds` says, as the columns of `events`.

    Times are taken from `earliest`, the start of an epoch, to `latest`.
    """

    source: Source
    kinds: Mapping[str, str]
    earliest: int
    latest: int

    def columns(self) -> dict[str, Column]:
        """By name, what a row says of an event."""
        from pyspark.sql import functions as F

        day = F.lit(_DAY)
        start = self.micros - F.pmod(self.micros - F.lit(self.source.origin), F.lit(self.source.epoch))
        fields = {name: self.text(self.source.expressions[name]) for name in self.source.fields}
        values = {name: column for name, (_, column) in self._further.items()}
        return {
            "time": F.timestamp_micros(self.micros),
            "epoch_start": F.timestamp_micros(start),
            "day": F.date_from_unix_date(F.call_function("div", start - F.pmod(start, day), day).cast("int")),
            "site": self._own("site"),
            "item": self._own("item"),
            "value": self._value[1] if self._value else F.lit(None).cast("bigint"),
            "fields": _map(fields, "map<string,string>"),
            "values": _map(values, "map<string,bigint>"),
        }

    @property
    def plain(self) -> Column:
        """Whether a row is plain: true or false, never null."""
        from pyspark.sql import functions as F

        conditions = [self.micros.between(F.lit(self.earliest), F.lit(self.latest))]
        conditions += [self._own(name).isNotNull() for name in ("site", "item") if name in self.source.columns]
        numbers = [*self._further.values(), *([self._value] if self._value else [])]
        conditions += [given.isNull() | found.isNotNull() for given, found in numbers]
        texts = {name for expression in self._texts for name in expression.columns}
        conditions += [
            column.isNull() | F.is_valid_utf8(column.cast("string"))
            for column in (_named(name) for name in sorted(texts) if self.kinds[name] == "binary")
        ]
        return F.coalesce(reduce(lambda one, other: one & other, conditions), F.lit(False))

    @cached_property
    def micros(self) -> Column:
        """The time in microseconds since 1970, null where it is not plain."""
        from pyspark.sql import functions as F

        expression = self.source.expressions["time"]
        kind = self._native(expression)
        unit = 10 ** _PLACES[self.source.time_format]
        if not kind:
            return self._time_of_text(self.text(expression))
        column = _named(expression.name)  # type: ignore[union-attr]
        if kind == "timestamp":
            return F.unix_micros(column)
        if kind == "timestamp_ntz":
            return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), column)
        if kind == "date":
            return F.unix_date(column).cast("bigint") * F.lit(_DAY)
        if kind in _WHOLE:
            limit = F.lit(_MOST // unit)
            return F.when(column.between(-limit, limit), column.cast("bigint") * F.lit(unit))
        scaled = column.cast("double") * F.lit(float(unit))
        return F.when(F.abs(scaled) <= F.lit(float(_MOST)), F.rint(scaled).cast("bigint"))

    def text(self, expression: Expression) -> Column:
        """An expression's texts; an empty one is missing."""
        from pyspark.sql import functions as F

        return to_column(expression, lambda name: F.nullif(_named(name).cast("string"), F.lit("")))

    @property
    def _texts(self) -> list[Expression]:
        """The expressions that are read as texts."""
        own = self.source.expressions
        found = [expression for name, expression in own.items() if name not in ("time", "value")]
        native = [own["time"], *([own["value"]] if "value" in own else []), *self.source.value_expressions.values()]
        return found + [expression for expression in native if not self._native(expression)]

    def _native(self, expression: Expression) -> str:
        """The type of a column that is read as it is, '' for texts."""
        kind = self.kinds[expression.name] if isinstance(expression, ColumnName) else "string"
        return "" if kind in ("string", "binary", "boolean") else kind

    def _own(self, name: str) -> Column:
        from pyspark.sql import functions as F

        known = self.source.expressions
        return self.text(known[name]) if name in known else F.lit(None).cast("string")

    @cached_property
    def _value(self) -> tuple[Column, Column] | None:
        known = self.source.expressions
        return self._number(known["value"], self.source.scale) if "value" in known else None

    @cached_property
    def _further(self) -> dict[str, tuple[Column, Column]]:
        return {
            name: self._number(expression, self.source.scales[name])
            for name, expression in sorted(self.source.value_expressions.items())
        }

    def _number(self, expression: Expression, scale: int) -> tuple[Column, Column]:
        """What is given, and it times the scale as a whole number, null where it is none or not plain."""
        from pyspark.sql import functions as F

        kind = self._native(expression)
        if not kind:
            text = self.text(expression)
            return text, _whole(F.when(text.rlike(_DECIMAL), text.try_cast("decimal(18,9)")), scale)
        column = _named(expression.name)  # type: ignore[union-attr]
        if kind in _WHOLE:
            return column, F.try_multiply(column.cast("bigint"), F.lit(scale).cast("bigint"))
        if kind in _BROKEN:
            value, times = column.cast("double"), F.lit(float(scale))
            whole = F.rint(value * times)
            exact = (F.abs(whole) < F.lit(_EXACT_IN_DOUBLES)) & (whole / times == value)
            return column, F.when(exact, whole.cast("bigint"))
        return column, _whole(column, scale)

    def _time_of_text(self, text: Column) -> Column:
        from pyspark.sql import functions as F

        decimals = _PLACES[self.source.time_format]
        digits = rf"\A[0-9]{{1,{18 - decimals}}}" + (rf"(\.[0-9]{{1,{decimals}}})?\z" if decimals else r"\z")
        number = F.when(text.rlike(digits), text.try_cast(f"decimal(18,{decimals})") * F.lit(10**decimals)).cast(
            "bigint"
        )
        if self.source.time_format != "auto":
            return number
        iso = text.rlike(_ISO if self.source.time_zone == "UTC" else rf"(?={_ISO}).*{_ZONE}")
        end = F.when(text.rlike(_ZONE), "").when(F.length(text) == 10, " 00:00:00Z").otherwise("Z")
        return F.coalesce(number, F.unix_micros(F.when(iso, F.concat(text, end)).try_cast("timestamp")))


def _named(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(f"row.{quoted(name)}")


def quoted(name: str) -> str:
    """A name of the data where Spark expects one of a column."""
    return f"`{name.replace('`', '``')}`"


def _whole(decimal: Column, scale: int) -> Column:
    """A decimal times the scale, null where that is not whole."""
    from pyspark.sql import functions as F

    scaled = decimal * F.lit(scale).cast("decimal(10,0)")
    return F.when(F.floor(scaled) == scaled, scaled.try_cast("bigint"))


def _map(columns: Mapping[str, Column], kind: str) -> Column:
    from pyspark.sql import functions as F

    parts = [part for name, column in columns.items() for part in (F.lit(name), column)]
    return F.create_map(*parts) if parts else F.lit(None).cast(kind)
