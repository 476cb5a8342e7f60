"""A Spark Connect server: one Java machine that all steps share, because starting one takes seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from jobs.local.servers.process import Server, ServerFailed, accepts_connections, free_port
from jobs.spark.options import LOOPBACK, spark_environment, spark_options
from jobs.spark.token import SERVER_VARIABLE, make_token, with_token_file, write_private
from monitoring_lib.errors import UsageError

CONNECT_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
CONNECT_PORT = 15002
LONGEST_START = 120.0
TRIES = 3
RESTARTS = 5
TOKEN_FILE = "connect-token"
CLUSTER_SECRET = "SPARK_SECRET"
"""Environment variable with the secret of a cluster's master and workers."""


@dataclass(frozen=True)
class SparkServer:
    server: Server
    port: int
    token_file: Path
    """Holds the token that clients must show; only the owner reads it."""

    @property
    def remote(self) -> str:
        """What FARWATCH_SPARK_REMOTE is to hold."""
        return with_token_file(f"sc://{LOOPBACK}:{self.port}", self.token_file)


def spark_home() -> Path:
    """The folder of pip's pyspark: found without importing it."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise UsageError(f"pyspark is not installed beside {sys.executable}; run `make setup`")
    return Path(found.origin).parent


def connect_command(
    home: Path, port: int, *, master: str, extra: Mapping[str, str] | None = None, optimised: bool = False
) -> list[str]:
    """The command line of a server: pip's pyspark brings no start-connect-server script."""
    options = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
    } | spark_options(home, extra, optimised=optimised)
    command = [str(spark_home() / "bin" / "spark-submit"), "--class", CONNECT_CLASS, "--master", master]
    command += ["--name", "Farwatch"]
    for name, value in options.items():
        command += ["--conf", f"{name}={value}"]
    return [*command, "spark-internal"]


def _environment(options: Mapping[str, str] | None, token: str) -> dict[str, str]:
    return spark_environment(options=options) | {"SPARK_HOME": str(spark_home()), SERVER_VARIABLE: token}


def begin(
    home: Path,
    *,
    port: int | None = None,
    master: str = "local[2]",
    extra: Mapping[str, str] | None = None,
    outlive_us: bool = False,
    restarts: int = 0,
) -> SparkServer:
    """Starts a server whose files stay below `home`, without waiting for it: see `wait_ready`.

    One that fails by itself is started again up to `restarts` times, on the same port and with the same token.
    """
    home = home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    port, token_file = port or free_port(), home / TOKEN_FILE
    server = Server.start(
        "Spark Connect",
        connect_command(home, port, master=master, extra=extra, optimised=outlive_us),
        log=home / "spark-connect.log",
        environment=_environment(extra, make_token(token_file)),
        folder=home,
        outlive_us=outlive_us,
        restarts=restarts,
    )
    return SparkServer(server, port, token_file)


def wait_ready(spark: SparkServer, longest: float = LONGEST_START) -> None:
    """Returns when the server takes calls. A client would wait for a dead server without an error."""
    spark.server.wait_until(lambda: accepts_connections(spark.port), longest)


def start(home: Path, *, master: str = "local[2]", extra: Mapping[str, str] | None = None) -> SparkServer:
    """A server that takes calls; where its port was taken by another in between, on another port."""
    for left in reversed(range(TRIES)):
        spark = begin(home, master=master, extra=extra)
        try:
            wait_ready(spark)
            return spark
        except ServerFailed as error:
            spark.server.tell_to_stop()
            spark.server.wait_stopped()
            if left == 0 or "already in use" not in str(error):
                raise
        except BaseException:
            spark.server.tell_to_stop()
            spark.server.wait_stopped()
            raise
    raise AssertionError("unreachable")


def main(arguments: Sequence[str]) -> None:
    """Becomes a server that lives as long as this process, with our settings: for a container.

    `python -m jobs.local.servers.spark_server MASTER [name=value ...]`, Spark's settings last.
    """
    master, *settings = arguments
    home = Path(os.environ.get("FARWATCH_HOME", ".")).absolute() / "var" / "spark"
    home.mkdir(parents=True, exist_ok=True)
    extra = dict(setting.split("=", 1) for setting in settings)
    command = connect_command(home, CONNECT_PORT, master=master, extra=extra, optimised=True)
    if CLUSTER_SECRET in os.environ:
        # A cluster's processes share a secret; by a private file, since everybody sees a command line.
        write_private(home / "spark.conf", f"spark.authenticate.secret {os.environ[CLUSTER_SECRET]}\n")
        command[1:1] = ["--properties-file", str(home / "spark.conf")]
    os.execve(command[0], command, _environment(extra, make_token(home / TOKEN_FILE)))


if __name__ == "__main__":
    main(sys.argv[1:])
