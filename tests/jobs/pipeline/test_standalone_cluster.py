"""A Spark standalone cluster seals what one machine seals, also when a worker is killed in the middle of an epoch."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.local.servers.guard import descendants
from jobs.local.servers.process import Servers
from jobs.spark.options import LOOPBACK
from jobs.spark.session import REMOTE
from tests.jobs.pipeline.cluster_runs import ClusterRuns, ConnectRuns, SparkSubmitRuns
from tests.jobs.pipeline.deployment import BUSIEST, RECENT, Deployment, shopping
from tests.jobs.pipeline.executor_python import ExecutorPython
from tests.jobs.pipeline.standalone_cluster import Cluster, command_line, listens_at

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1500)]
HOURS = 6
LONGEST_WAIT = 400.0
MONITORS = (
    BUSIEST | {"method": "margins"},
    RECENT,
    {"name": "different", "question": "distinct-count", "source": "shop", "error": 0.2},
)
OBSERVED = 3
"""Commits of the sites' states, the making of the table among them, after which a worker is killed."""
Deploy = Callable[[str, str], Deployment]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, project: Path) -> ExecutorPython:
    return ExecutorPython.make(tmp_path_factory.mktemp("executors") / "python", project)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Servers() as servers:
        yield Cluster.start(tmp_path_factory.mktemp("cluster"), servers)


@pytest.fixture(scope="module", params=[ConnectRuns, SparkSubmitRuns], ids=["connect", "spark-submit"])
def runs(
    request: pytest.FixtureRequest, cluster: Cluster, python: ExecutorPython, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterRuns]:
    """One kind after the other: an application takes all cores of the cluster."""
    with Servers() as servers:
        yield request.param(cluster, python, tmp_path_factory.mktemp("runs"), servers)


@pytest.fixture(scope="module")
def deploy(tmp_path_factory: pytest.TempPathFactory) -> Deploy:
    def make(name: str, sites_run: str) -> Deployment:
        settings = {"sites_run": sites_run, "spark": {"options": {"spark.sql.shuffle.partitions": "2"}}}
        home = Deployment(tmp_path_factory.mktemp(name), monitors=MONITORS, settings=settings)
        for hour, rows in shopping(12, HOURS, sites=6, items=40, each_hour=120).items():
            home.add_file(f"{hour:02}.csv", rows)
        return home

    return make


@pytest.fixture(scope="module")
def local(deploy: Deploy) -> Deployment:
    """The same epochs in one process of one machine."""
    home = deploy("local", "process")
    words = ["--source", "shop", "--from", "2020-01-01T00:00", "--to", f"2020-01-01T{HOURS:02}:00"]
    done = home.command("run", *words, **{REMOTE: ""})
    assert done.returncode == 0, done.stderr
    assert len(home.digests()) == HOURS * len(MONITORS)
    return home


def assert_same_content(home: Deployment, local: Deployment) -> None:
    assert home.digests() == local.digests()
    assert home.published() == local.published()


def wait_for(happened: Callable[[], object], what: str, log: Path) -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not come within {LONGEST_WAIT:.0f} s; see {log}"
        time.sleep(0.02)


def test_a_cluster_whose_executors_have_their_own_python_seals_what_a_local_run_seals(
    runs: ClusterRuns, cluster: Cluster, python: ExecutorPython, deploy: Deploy, local: Deployment
) -> None:
    cluster.fill_up()
    python.forget_imports()
    home = deploy("clean", "spark")
    assert runs.exit_code(runs.begin(home, 0, HOURS)) == 0, runs.said()
    assert python.has_run_sites()
    assert_same_content(home, local)


def test_a_worker_killed_while_its_executor_runs_a_task_changes_nothing(
    runs: ClusterRuns, cluster: Cluster, python: ExecutorPython, deploy: Deploy, local: Deployment
) -> None:
    """The executor is stopped first: so the task that it is given next is certain not to have ended before the kill."""
    cluster.fill_up()
    home = deploy("killed", "spark")
    states = home.home / "var" / "sites" / "site_states" / "_delta_log"
    run = runs.begin(home, 0, HOURS)
    wait_for(lambda: len(list(states.glob("*.json"))) >= OBSERVED or not run.is_running, "a commit", runs.log)
    victim = cluster.workers[0]
    process, number = victim.executor()
    os.kill(process, signal.SIGSTOP)
    time.sleep(0.5)  # what it has said before arrives
    wait_for(lambda: runs.tasks.running(number), "a task for the stopped executor", runs.log)
    running = runs.tasks.running(number)
    assert str(python.executable) in {command_line(one)[0] for one in victim.processes}
    everything = descendants(os.getpid())
    assert not any(cluster.secret in word for one in everything for word in command_line(one))
    assert listens_at(everything) == {LOOPBACK}
    assert not home.digests(), "nothing is sealed yet: the epochs are under way"
    assert run.is_running
    victim.kill()
    assert runs.exit_code(run) == 0, runs.said()
    assert running <= runs.tasks.lost()
    assert_same_content(home, local)
