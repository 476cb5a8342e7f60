"""Who may use a Spark Connect server, and what its clients see when it dies under them. One server for all tests."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.local.servers import guard, spark_server
from jobs.local.servers.process import Servers, accepts_connections
from jobs.local.servers.spark_server import SparkServer
from jobs.spark.token import authorised, make_token, split_token, with_token_file
from monitoring_lib.errors import SparkUnavailable
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, Deployment, shopping

STRANGER = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.client.set_retry_policies([DefaultPolicy(max_retries=1)])
print("rows", spark.range(7).count())
"""


def test_an_address_names_the_file_and_never_holds_the_token(tmp_path: Path) -> None:
    place = tmp_path / "a folder; with = signs" / "token"
    token = make_token(place)
    remote = with_token_file("sc://127.0.0.1:15002", place)
    assert token not in remote
    assert split_token(remote) == ("sc://127.0.0.1:15002/", token)
    assert split_token("sc://spark:15002") == ("sc://spark:15002", "")
    assert authorised("sc://spark:15002", "") == "sc://spark:15002"


def test_a_new_start_has_a_new_token_that_only_its_owner_reads(tmp_path: Path) -> None:
    place = tmp_path / "token"
    first, second = make_token(place), make_token(place)
    assert first != second
    assert place.read_text() == second
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [place]


def test_a_token_that_is_gone_is_an_error_that_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(SparkUnavailable, match=r"cannot be read from .*/gone \(No such file"):
        split_token(with_token_file("sc://127.0.0.1:1", tmp_path / "gone"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkServer]:
    with Servers() as servers:
        spark = spark_server.begin(tmp_path_factory.mktemp("spark"), restarts=1)
        servers.add(spark.server)
        spark_server.wait_ready(spark)
        yield spark


def java(server: SparkServer) -> int:
    """The process of the server itself, below its guard."""
    named = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in guard.descendants(server.server.guard.pid)}
    [found] = [pid for pid, line in named.items() if spark_server.CONNECT_CLASS.encode() in line]
    return found


@pytest.mark.spark
@pytest.mark.slow
def test_a_stranger_is_refused_and_the_token_is_in_no_command_line(server: SparkServer) -> None:
    token = server.token_file.read_text()
    for address, knows in ((f"sc://127.0.0.1:{server.port}", False), (authorised(*split_token(server.remote)), True)):
        client = subprocess.run(
            [sys.executable, "-c", STRANGER, address], capture_output=True, text=True, timeout=120, check=False
        )  # fmt: skip
        assert (client.returncode == 0) is knows
        assert ("rows 7" in client.stdout) is knows
        assert knows or "UNAUTHENTICATED" in client.stderr
    ours = [server.server.guard.pid, *guard.descendants(server.server.guard.pid)]
    assert len(ours) > 1
    for process in ours:
        assert token.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
    assert stat.S_IMODE(Path(f"/proc/{java(server)}/environ").stat().st_mode) & 0o077 == 0
    assert token not in server.server.log.read_text(errors="replace")


@pytest.mark.spark
@pytest.mark.slow
def test_a_server_that_dies_ends_its_clients_soon_with_code_3_and_comes_up_again(
    server: SparkServer, tmp_path: Path
) -> None:
    home = Deployment(tmp_path / "home", monitors=(BUSIEST,), settings=ONE_PARTITION)
    home.add_file("all.csv", shopping(3, 2)[0])
    given = os.environ | {
        "FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf"),
        "FARWATCH_SPARK_REMOTE": server.remote,
    }  # fmt: skip
    words = ["run", "--source", "shop", "--from", "2020-01-01", "--to", "2020-01-01T01:00"]
    command = [sys.executable, "-m", "jobs.command.cli", *words]
    with subprocess.Popen(command, env=given, stderr=subprocess.PIPE, text=True) as client:
        assert client.stderr is not None
        first = client.stderr.readline()  # the file has landed: Spark is in use
        os.kill(java(server), signal.SIGKILL)
        killed = time.monotonic()
        said = first + client.communicate(timeout=120)[1]
    assert time.monotonic() - killed < 30
    assert client.returncode == 3, said
    assert "Spark Connect server" in said
    assert "Traceback" not in said
    assert "farwatch up" in said
    deadline = time.monotonic() + 120
    while not accepts_connections(server.port):
        assert time.monotonic() < deadline, "the guard does not start it again"
        time.sleep(0.2)
