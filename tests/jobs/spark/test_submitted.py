"""A session in a process that spark-submit has started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.spark.session import REMOTE

ASKED = ("spark.master", "spark.sql.shuffle.partitions", "spark.default.parallelism", "spark.authenticate")
SCRIPT = """
import json, sys
from pathlib import Path
from jobs.spark.session import open_session
from monitoring_lib.config.settings import Spark
options = {"spark.sql.shuffle.partitions": "7", "spark.default.parallelism": "5"}
context = open_session(Spark(master="local[2]", options=options), Path(sys.argv[1])).sparkContext
found = {name: context.getConf().get(name) for name in sys.argv[2:]}
print("found", json.dumps(found | {"python": context.pythonExec}))
"""


@pytest.mark.spark
@pytest.mark.slow
def test_what_spark_submit_says_goes_before_the_configuration_and_that_before_our_own_settings(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    programs = Path(sys.executable).parent
    said = ["--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=3"]
    given = {name: value for name, value in os.environ.items() if name != REMOTE} | {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": "/opt/executors/bin/python",
    }  # fmt: skip
    done = subprocess.run(
        [programs / "spark-submit", *said, script, tmp_path, *ASKED],
        env=given, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    found = json.loads(line.removeprefix("found "))
    assert found == dict(zip(ASKED, ("local[1]", "3", "5", "true"), strict=True)) | {
        "python": "/opt/executors/bin/python"
    }
