from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jobs.local.servers import spark_server
from jobs.local.servers.process import Servers, accepts_connections
from jobs.spark.options import delta_jars, spark_environment, spark_options
from monitoring_lib.errors import UsageError

CLIENT = """
import sys
from pyspark.sql import SparkSession
from jobs.spark.token import authorised, split_token
spark = SparkSession.builder.remote(authorised(*split_token(sys.argv[1]))).getOrCreate()
spark.range(7).write.format("delta").save(sys.argv[2])
python = spark.range(1).mapInArrow(lambda batches: batches, "id long").count()
print("rows", spark.read.format("delta").load(sys.argv[2]).count(), python)
"""


def test_options_name_the_delta_jars_and_stay_below_home(tmp_path: Path) -> None:
    options = spark_options(tmp_path)
    assert len(options["spark.jars"].split(",")) == len(delta_jars()) == 5
    assert options["spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"] == "false"
    assert options["spark.sql.warehouse.dir"].startswith(tmp_path.as_uri())
    assert options["spark.local.dir"].startswith(str(tmp_path))
    assert options["spark.driver.bindAddress"] == "127.0.0.1"


def test_what_the_configuration_says_wins(tmp_path: Path) -> None:
    assert spark_options(tmp_path, {"spark.driver.memory": "9g"})["spark.driver.memory"] == "9g"


def test_missing_jars_are_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make setup"):
        delta_jars(tmp_path)


def test_workers_run_our_python_and_another_spark_is_forgotten() -> None:
    other = {"SPARK_HOME": "/opt/spark", "SPARK_REMOTE": "sc://elsewhere", "SPARK_CONNECT_MODE_ENABLED": "1"}
    environment = spark_environment(other | {"LANG": "C"})
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert not other.keys() & environment.keys()
    assert environment["LANG"] == "C"


def test_executors_run_the_python_that_the_options_name() -> None:
    environment = spark_environment({}, {"spark.pyspark.python": "/opt/executors/bin/python"})
    assert environment["PYSPARK_PYTHON"] == "/opt/executors/bin/python"
    assert environment["PYSPARK_DRIVER_PYTHON"] == sys.executable


@pytest.mark.spark
@pytest.mark.slow
def test_a_connect_server_reads_and_writes_delta_and_leaves_nothing_running(tmp_path: Path) -> None:
    with Servers() as servers:
        spark = spark_server.start(tmp_path / "spark")
        servers.add(spark.server)
        client = subprocess.run(
            [sys.executable, "-c", CLIENT, spark.remote, str(tmp_path / "table")],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert "rows 7 1" in client.stdout, client.stderr[-2000:]
    assert not accepts_connections(spark.port)
    assert not list((tmp_path / "spark" / "scratch").iterdir())
