"""A Spark standalone cluster on loopback: a master and two workers from pip's pyspark, stopped by process id."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psutil

from jobs.local.servers.guard import descendants
from jobs.local.servers.process import Server, Servers, free_port
from jobs.local.servers.spark_server import spark_home
from jobs.spark.options import LOOPBACK
from jobs.spark.token import write_private

LONGEST_START = 120.0
KEPT = ("PATH", "HOME", "JAVA_HOME", "LANG", "TMPDIR")
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
OTHER_ZONE = "Pacific/Auckland"
"""What is sealed must not depend on where the machines are."""


@dataclass
class Worker:
    server: Server

    @property
    def processes(self) -> list[int]:
        """The worker, its executors and their Python."""
        return descendants(self.server.guard.pid)

    def executor(self) -> tuple[int, str]:
        """Process and number of its executor; one application at a time."""
        lines = {process: command_line(process) for process in self.processes}
        [(process, words)] = [(one, words) for one, words in lines.items() if "--executor-id" in words]
        return process, words[words.index("--executor-id") + 1]

    def kill(self) -> None:
        """Kill -9 of all of it, at once."""
        for process in self.processes:
            os.kill(process, signal.SIGKILL)
        self.server.guard.wait(60)


@dataclass
class Cluster:
    folder: Path
    servers: Servers
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    port: int = field(default_factory=free_port)
    workers: list[Worker] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    def start(cls, folder: Path, servers: Servers) -> Cluster:
        cluster = cls(folder, servers)
        secret = {"spark.authenticate": "true", "spark.authenticate.secret": cluster.secret}
        # A port that was taken meanwhile is an error; Spark would try the next ones.
        write_properties(cluster._properties, secret | {"spark.port.maxRetries": "0"})
        address = ["--host", LOOPBACK, "--port", str(cluster.port), "--webui-port", "0"]
        cluster._begin("master", "master.Master", address, "New state: ALIVE")
        cluster.fill_up()
        return cluster

    @property
    def master(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    @property
    def processes(self) -> list[int]:
        return [process for server in self.servers.started for process in descendants(server.guard.pid)]

    def fill_up(self) -> None:
        """Starts workers in the place of killed ones."""
        self.workers = [worker for worker in self.workers if worker.server.is_running]
        while len(self.workers) < 2:
            name = f"worker-{next(self._numbers)}"
            size = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            place = ["--work-dir", str(self.folder / name), self.master]
            server = self._begin(name, "worker.Worker", [*size, *place], "Successfully registered with master")
            self.workers.append(Worker(server))

    def _begin(self, name: str, part: str, arguments: list[str], ready: str) -> Server:
        command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{part}"]
        server = Server.start(
            f"Spark's {name}",
            [*command, "--properties-file", str(self._properties), *arguments],
            log=self.folder / f"{name}.log",
            environment=self._environment(name),
            folder=self.folder,
        )
        self.servers.add(server)
        server.wait_until(lambda: ready in server.log.read_text(errors="replace"), LONGEST_START)
        return server

    @property
    def _properties(self) -> Path:
        return self.folder / "cluster.conf"

    def _environment(self, name: str) -> dict[str, str]:
        """Nothing of ours that would lead an executor's Python to our own packages."""
        kept = {key: value for key, value in os.environ.items() if key in KEPT}
        return kept | {
            "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": LOOPBACK, "TZ": OTHER_ZONE,
            "SPARK_LOCAL_DIRS": str(self.folder / f"{name}-scratch"),
            "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK,
        }  # fmt: skip


def write_properties(path: Path, properties: dict[str, str]) -> None:
    """A file of Spark's settings that only its owner reads: everybody sees a command line."""
    write_private(path, "".join(f"{name} {value}\n" for name, value in properties.items()))


def command_line(process: int) -> list[str]:
    """The words of a process's command; none where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def listens_at(processes: Iterable[int]) -> set[str]:
    """The addresses at which processes listen."""
    found = set()
    for process in processes:
        try:
            connections = psutil.Process(process).net_connections()
        except psutil.Error:
            continue  # it has ended meanwhile
        found |= {one.laddr.ip.removeprefix("::ffff:") for one in connections if one.status == psutil.CONN_LISTEN}
    return found
