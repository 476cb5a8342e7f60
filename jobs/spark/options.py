"""The Spark settings that Farwatch depends on: a local session and a Connect server share them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from monitoring_lib.errors import UsageError

LOOPBACK = "127.0.0.1"
# Out of memory, Spark may lose the thread that hands out tasks, and its callers wait for ever: better the process ends.
_ALWAYS = "-XX:+ExitOnOutOfMemoryError -Duser.timezone=UTC"
# Fewer optimisations and the plainest collector: a session is up in half the time, and an epoch is short.
QUICK_START = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto {_ALWAYS}"
SENT_ALONG = {"spark.sql.session.localRelationCacheThreshold": str(64 << 20)}
"""Rows of a client up to this size travel in the plan. Larger ones stay in a Connect server's memory as long as the
session lives; above Spark's own limit of 1 MB, a long backfill would fill it."""


OTHER_SPARK = ("SPARK_HOME", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "MASTER")
"""Variables of another Spark's user, or of a parent process that is attached to a Connect server."""


def delta_jars(prefix: Path | None = None) -> list[Path]:
    """The jars that make Spark read and write Delta, as the set-up has put them into the environment."""
    folder = (prefix or Path(sys.prefix)) / "share" / "farwatch" / "jars"
    found = sorted(folder.glob("*.jar"))
    if not found:
        raise UsageError(f"{folder} holds no Delta jars; run `make setup`")
    return found


def spark_options(home: Path, extra: Mapping[str, str] | None = None, *, optimised: bool = False) -> dict[str, str]:
    """Settings of a session or server whose own files (warehouse, scratch) stay below `home`.

    `extra`, the configuration's `spark.options`, wins over what stands here. A server that lives for days, and a
    session with much to do, are better off `optimised` by all that Java can than with a quick start.
    """
    home = home.absolute()
    options = {
        "spark.jars": ",".join(map(str, delta_jars())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Delta spreads a table's log over 50 partitions by default; our logs are short, each costs a task.
        "spark.databricks.delta.snapshotPartitions": "2",
        # A task that writes a few days keeps a file of each open, where it would sort all its rows by day.
        "spark.sql.maxConcurrentOutputFileWriters": "4",
        # What is kept in memory is read once or twice, soon: packing it takes longer than that saves.
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
        # With it a plain @udf over a Parquet scan hangs for ever (SPARK-58241).
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        # No line stands twice in a file: a dictionary of them would be begun and given up.
        "spark.hadoop.parquet.enable.dictionary#line": "false",
        # Spark's default, INT96, is read as nanoseconds by others: the year 4000 would come back as 2246.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.local.dir": str(home / "scratch"),
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        # Spark's own ports (blocks, files, remote calls) ask for a secret too: in one process Spark makes it by itself.
        "spark.authenticate": "true",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": _ALWAYS if optimised else QUICK_START,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **SENT_ALONG,
    }
    return options | dict(extra or {})


def spark_environment(
    environ: Mapping[str, str] | None = None, options: Mapping[str, str] | None = None
) -> dict[str, str]:  # fmt: skip
    """The environment for the process that starts the Java machine.

    Workers would take `python3` from PATH, and another Spark's home would bring its jars. Executors of a
    cluster run the Python that the `options` name: of pyspark's own ways to say so, only the environment always counts.
    """
    kept = {k: v for k, v in (os.environ if environ is None else environ).items() if k not in OTHER_SPARK}
    python = (options or {}).get("spark.pyspark.python", sys.executable)
    own = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {"SPARK_LOCAL_IP": LOOPBACK} | kept | own
