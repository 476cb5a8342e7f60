"""Spark gives the same texts and the same truth as Arrow, on every input."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jobs.spark.expressions import SparkValues, to_column, to_condition
from jobs.spark.session import open_session
from monitoring_lib.config.settings import Spark
from monitoring_lib.expressions import evaluate, holds

from .conditions import SCALES, TEXTS, columns_of, conditions, rows, texts

pytestmark = pytest.mark.spark

AT_ONCE = 12
"""Expressions that one query of Spark evaluates side by side."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory, spark_remote):
    return open_session(Spark(mode="connect", remote=spark_remote), tmp_path_factory.mktemp("expressions"))


def resolve(name):
    from pyspark.sql import functions as F

    column = F.col(f"`{name}`")
    return SparkValues(column, "number", SCALES[name]) if name in SCALES else SparkValues(column)


@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(st.data())
def test_both_evaluators_agree_on_every_row(spark, data):
    asked = data.draw(st.lists(conditions, min_size=AT_ONCE, max_size=AT_ONCE))
    made = data.draw(st.lists(texts, min_size=AT_ONCE, max_size=AT_ONCE))
    table = data.draw(rows)
    schema = ", ".join([f"`{name}` string" for name in TEXTS] + [f"`{name}` bigint" for name in SCALES])
    frame = spark.createDataFrame([tuple(row[name] for name in (*TEXTS, *SCALES)) for row in table], schema)
    found = frame.coalesce(1).select(
        *(to_condition(condition, resolve).alias(f"c{at}") for at, condition in enumerate(asked)),
        *(to_column(text, lambda name: resolve(name).column).alias(f"t{at}") for at, text in enumerate(made)),
    ).collect()  # fmt: skip
    columns = columns_of(table)
    arrays = {name: values.array for name, values in columns.items()}
    for at, condition in enumerate(asked):
        in_arrow = holds(condition, columns, len(table)).to_pylist()
        assert [row[f"c{at}"] for row in found] == in_arrow, str(condition)
    for at, text in enumerate(made):
        assert [row[f"t{at}"] for row in found] == evaluate(text, arrays, len(table)).to_pylist(), str(text)
