"""Two ways in which `farwatch run` comes to a Spark cluster, as docs/deployment.md describes them."""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from jobs.command import cli
from jobs.local.servers.process import Server, Servers, accepts_connections, free_port
from jobs.local.servers.spark_server import CLUSTER_SECRET, LONGEST_START, TOKEN_FILE
from jobs.spark.options import LOOPBACK, delta_jars
from jobs.spark.session import REMOTE
from jobs.spark.token import with_token_file
from tests.jobs.pipeline.deployment import Deployment
from tests.jobs.pipeline.executor_python import ExecutorPython
from tests.jobs.pipeline.standalone_cluster import QUICK, Cluster, write_properties
from tests.jobs.pipeline.task_log import TaskLog

LONGEST_RUN = 400.0


class ClusterRuns(ABC):
    """`farwatch run` against a cluster; whatever it starts is among `servers`."""

    def __init__(self, cluster: Cluster, python: ExecutorPython, folder: Path, servers: Servers) -> None:
        self.cluster, self.folder, self.servers = cluster, folder, servers
        self.tasks, self.log = TaskLog(folder), folder / "run.log"
        self.settings = {
            "spark.pyspark.python": str(python.executable),
            "spark.driver.extraJavaOptions": self.tasks.java_options(),
            "spark.executor.extraJavaOptions": QUICK,
        }
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Brings about what all runs need."""

    @abstractmethod
    def command(self) -> list[str]:
        """`farwatch`, to be followed by what it is to do."""

    def environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name not in (REMOTE, "PYTHONPATH")}

    def begin(self, home: Deployment, first: int, last: int) -> Server:
        """Starts a run of these epochs, the last one not included."""
        words = ["run", "--source", "shop", "--from", f"2020-01-01T{first:02}:00", "--to", f"2020-01-01T{last:02}:00"]
        named = {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")}
        run = Server.start(
            "farwatch run",
            [*self.command(), *words],
            log=self.log,
            environment=self.environment() | named,
            folder=self.folder,
        )
        return self.servers.add(run)

    def exit_code(self, run: Server) -> int:
        try:
            return run.guard.wait(LONGEST_RUN)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run did not end within {LONGEST_RUN:.0f} s; {self.said()}") from None

    def said(self) -> str:
        return f"{self.log} ends with:\n{self.log.read_text(errors='replace')[-3000:]}"


class ConnectRuns(ClusterRuns):
    """Attached to a Connect server, which is started as in docker/compose.yml."""

    def prepare(self) -> None:
        self.port = free_port()
        settings = self.settings | {"spark.connect.grpc.binding.port": str(self.port)}
        words = [f"{name}={value}" for name, value in settings.items()]
        named = {"FARWATCH_HOME": str(self.folder), CLUSTER_SECRET: self.cluster.secret}
        server = Server.start(
            "Spark Connect",
            [sys.executable, "-m", "jobs.local.servers.spark_server", self.cluster.master, *words],
            log=self.folder / "spark-connect.log",
            environment=super().environment() | named,
            folder=self.folder,
        )
        self.servers.add(server).wait_until(lambda: accepts_connections(self.port), LONGEST_START)

    def command(self) -> list[str]:
        return [sys.executable, "-m", "jobs.command.cli"]

    def environment(self) -> dict[str, str]:
        token = self.folder / "var" / "spark" / TOKEN_FILE
        return super().environment() | {REMOTE: with_token_file(f"sc://{LOOPBACK}:{self.port}", token)}


class SparkSubmitRuns(ClusterRuns):
    """Each started by spark-submit, which takes its settings from a private file."""

    def prepare(self) -> None:
        self.conf = self.folder / "spark.conf"
        own = {
            "spark.master": self.cluster.master,
            "spark.authenticate.secret": self.cluster.secret,
            "spark.jars": str(delta_jars()[0].with_name("*.jar")),
            "spark.pyspark.driver.python": sys.executable,
        }
        write_properties(self.conf, self.settings | own)

    def command(self) -> list[str]:
        submit = str(Path(sys.executable).with_name("spark-submit"))
        return [submit, "--properties-file", str(self.conf), cli.__file__]

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return super().environment() | {"PATH": path, "SPARK_LOCAL_IP": LOOPBACK}
