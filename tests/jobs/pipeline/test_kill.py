"""Kill -9 after every single commit of a run, then run again: what is sealed is as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from jobs.lake import Lake
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import ANSWERS, DRAFTS, EVENTS, LANDINGS, MESSAGES, QUARANTINE, TABLES, Table
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, SOURCE, Deployment, shopping

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Deploy = Callable[..., Deployment]
CHECKED = SOURCE | {"quality": {"ranges": {"value": [0, 100]}}}
MONITORS = (BUSIEST | {"shadow": ["margins"]}, RECENT | {"method": "margins", "measure": "count"})
EVENTS_EACH_HOUR = 40
HOURS = 3
MOST_KILLS = 80
SEED, KILLS = 10, 4
ONCE = {"epochs", "answers", "alerts", "deliveries"}
"""Tables to which nothing is committed again that has been committed once: there every commit is a new one."""

Point = tuple[str, str, int]
"""A commit of a run: of which step, to which table, and the how manieth of that step to that table."""


class Runs:
    """`farwatch run`, one process a run, each of which may kill itself."""

    def __init__(self, home: Deployment, log: Path) -> None:
        script = Path(__file__).with_name("killed_run.py")
        named = {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")}
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(script)], env=os.environ | named, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
            )  # fmt: skip

    def run(self, first: int, last: int, **fatal: Any) -> tuple[int, list[Point]]:
        """The exit code, minus the signal where one ended it, and the commits, in order."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        arguments = ["run", "--source", "shop", "--from", moment(first), "--to", moment(last)]
        print(json.dumps([arguments, fatal]), file=self.process.stdin, flush=True)
        code, commits = json.loads(self.process.stdout.readline())
        return code, [(step, table, number) for step, table, number in commits]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, SIGKILL)
            raise


def moment(epoch: int) -> str:
    return f"2020-01-01T{epoch:02}:00"


@pytest.fixture
def home(deploy: Deploy) -> Deployment:
    return deploy("killed", source=CHECKED, monitors=MONITORS, settings=ONE_PARTITION)


@pytest.fixture
def runs(home: Deployment, tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(home, tmp_path / "runs.log")
    yield runs
    runs.end()
    print((tmp_path / "runs.log").read_text()[-4000:])


def bring(home: Deployment, hour: int) -> None:
    """An hour's file: a site that is new in it and out of range, and a row that cannot be read."""
    rows = shopping(hour, hour + 1, each_hour=EVENTS_EACH_HOUR)[hour]
    path = home.add_file(f"{hour:02}.csv", [*rows, (hour * HOUR, f"new in {hour}", "item 1", 500)])
    path.write_text(path.read_text() + "never,site 1,item 1,1\n")


def test_killed_in_a_few_steps_and_run_again_gives_what_a_clean_run_gives(
    home: Deployment, runs: Runs, deploy: Deploy, tmp_path: Path
) -> None:
    """Steps, and a commit of each, are drawn by a seed; every run is killed at the next of them."""
    clean = deploy("clean", source=CHECKED, monitors=MONITORS, settings=ONE_PARTITION)
    clean_runs = Runs(clean, tmp_path / "clean.log")
    for hour in range(HOURS):
        bring(home, hour)
        bring(clean, hour)
    code, commits = clean_runs.run(0, HOURS, dies_of=[])
    clean_runs.end()
    assert code == 0
    of_steps = [list(points) for _, points in groupby(commits, key=lambda point: point[0])]
    draw = random.Random(SEED)
    for step in sorted(draw.sample(range(len(of_steps)), KILLS)):
        point = draw.choice(of_steps[step])
        code, commits = runs.run(0, HOURS, dies_of=[point])
        assert (code, commits[-1]) == (-SIGKILL, point)
        assert_answers_do_not_lead(home)
    code, _ = runs.run(0, HOURS, dies_of=[])
    assert code == 0
    assert_as_clean(home, clean)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_killed_after_any_commit_and_run_again_gives_what_a_clean_run_gives(
    home: Deployment, runs: Runs, deploy: Deploy
) -> None:
    """Every run is killed one commit further than the one before it, until one finds nothing left to die of."""
    bring(home, 0)
    made = kill_on_and_on(home, runs, 0, 1, only_made=True)
    for hour in range(1, HOURS):
        bring(home, hour)
    died = kill_on_and_on(home, runs, 1, HOURS, only_made=False)
    print(f"died {len(made)} times of making {made}; {len(died)} times of committing {died}")

    clean = deploy("clean", source=CHECKED, monitors=MONITORS, settings=ONE_PARTITION)
    bring(clean, 0)
    first = commits_of(clean, 0, 1)
    for hour in range(1, HOURS):
        bring(clean, hour)
    assert [table for _, table, _ in made] == list(dict.fromkeys(first))
    assert [table for _, table, _ in died] == commits_of(clean, 1, HOURS)
    assert {table for _, table, _ in died} >= set(TABLES) - {"verdicts", "decisions", "audits", "references"}
    assert_as_clean(home, clean)


def assert_as_clean(home: Deployment, clean: Deployment) -> None:
    assert len(home.digests()) == HOURS * len(MONITORS)
    assert home.digests() == clean.digests()
    assert home.published() == clean.published()
    assert home.content(TABLES["alerts"]) == clean.content(TABLES["alerts"])
    assert_each_once(home)


def commits_of(home: Deployment, first: int, last: int) -> list[str]:
    """The tables that a run commits to, in order; of the first run, each is made before it is written to."""
    commits: list[str] = []
    home.run(first, last, context=home.watched(commits.append))
    return commits


def kill_on_and_on(home: Deployment, runs: Runs, first: int, last: int, only_made: bool) -> list[Point]:
    """Runs the epochs again and again, each time surviving what was died of before; all that was died of."""
    died: list[Point] = []
    for _ in range(MOST_KILLS):
        survived = [point for point in died if point[1] not in ONCE]
        code, commits = runs.run(first, last, survives=survived, only_made=only_made)
        assert_answers_do_not_lead(home)
        if code != -SIGKILL:
            assert code == 0
            assert only_made or not commits
            return died
        died.append(commits[-1])
    raise AssertionError(f"still dying after {MOST_KILLS} runs, last of {died[-1]}")


def assert_answers_do_not_lead(home: Deployment) -> None:
    """Nothing is published that is not sealed, however early the run ended."""
    sealed = {(monitor, epoch_start) for monitor, epoch_start in home.digests()}
    published = {(row["monitor"], to_microseconds(row["epoch_start"])) for row in home.rows(ANSWERS)}
    assert published <= sealed


def assert_each_once(home: Deployment) -> None:
    """No answer, message or event twice among the sealed rows, and none missing."""
    lake = home.context().lake
    for monitor in home.monitors:
        seals = lake.ledger.revisions("shop", monitor["name"])
        assert [seal.revision for seal in seals] == [0] * HOURS
        for table, outputs in {MESSAGES: ["inbox", "messages"], DRAFTS: ["drafts"]}.items():
            rows = lake.sealed(table, seals, outputs, [("monitor", "=", monitor["name"])]).to_pylist()
            assert most_often(table, rows) == 1
    assert most_often(ANSWERS, home.rows(ANSWERS)) == 1
    landed, aside, landings = (sealed_landings(home, lake, table) for table in (EVENTS, QUARANTINE, LANDINGS))
    assert len(landed) == HOURS * (EVENTS_EACH_HOUR + 1)
    assert len(aside) == len(landings) == HOURS
    assert most_often(EVENTS, landed) == most_often(QUARANTINE, aside) == 1
    assert sum(row["read"] for row in landings) == len(landed) + len(aside)


def sealed_landings(home: Deployment, lake: Lake, table: Table) -> list[dict[str, Any]]:
    clock = home.context().config.source("shop").clock
    writes = [seal.write for seal in lake.ledger.journal("shop", clock)]
    return list(lake.of_writes(table, writes).to_pylist())


def most_often(table: Table, rows: list[dict[str, Any]]) -> int:
    """How often the most frequent key occurs."""
    return max(Counter(tuple(row[name] for name in table.key) for row in rows).values())
