"""Expressions of the configuration as Spark columns; the same texts as `expressions.evaluate` gives."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import TYPE_CHECKING

from monitoring_lib.expressions import Call, Column, Expression, Text

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn


def to_column(expression: Expression, resolve: Callable[[str], SparkColumn]) -> SparkColumn:
    """The column that an expression says; `resolve` finds the columns it names."""
    from pyspark.sql import functions as F

    match expression:
        case Column(name):
            return resolve(name)
        case Text(text):
            return F.lit(text)
        case Call(function, parts, length):
            texts = [to_column(part, resolve) for part in parts]
            if function == "concat":
                return F.concat(*texts)
            if function == "coalesce":
                return F.coalesce(*texts)
            if function == "prefix":
                return F.substring(texts[0], 1, length)
            upper, lower = string.ascii_uppercase, string.ascii_lowercase
            return F.translate(texts[0], *((upper, lower) if function == "lower" else (lower, upper)))
