"""Kill -9 after every single commit of a run, then run again: what is sealed is as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from jobs.lake import Lake
from monitoring_lib.tables import ANSWERS, DRAFTS, EVENTS, LANDINGS, MESSAGES, QUARANTINE, TABLES, Table
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, RECENT, SOURCE, Deployment, shopping

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Deploy = Callable[..., Deployment]
CHECKED = SOURCE | {"quality": {"ranges": {"value": [0, 100]}}}
MONITORS = (BUSIEST | {"shadow": ["margins"]}, RECENT | {"method": "margins"})
EVENTS_EACH_HOUR = 40
MOST_EPOCHS = 60

Point = tuple[str, int]
"""A commit of a run: to which table, and the how manieth to it."""


class Runs:
    """`farwatch run`, one process a run, each of which may kill itself."""

    def __init__(self, home: Deployment, log: Path) -> None:
        script = Path(__file__).with_name("killed_run.py")
        named = {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")}
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(script)], env=os.environ | named, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip

    def run(self, epoch: int, dies: Any) -> tuple[int, list[Point]]:
        """The exit code, minus the signal where one ended it, and the commits, in order."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        arguments = ["run", "--source", "shop", "--from", moment(epoch), "--to", moment(epoch + 1)]
        print(json.dumps([dies, *arguments]), file=self.process.stdin, flush=True)
        code, tables = json.loads(self.process.stdout.readline())
        return code, [(table, tables[: at + 1].count(table)) for at, table in enumerate(tables)]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def moment(epoch: int) -> str:
    return f"2020-01-{1 + epoch // 24:02}T{epoch % 24:02}:00"


@pytest.fixture
def home(deploy: Deploy) -> Deployment:
    return deploy("killed", source=CHECKED, monitors=MONITORS)


@pytest.fixture
def runs(home: Deployment, tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(home, tmp_path / "runs.log")
    yield runs
    runs.end()
    print((tmp_path / "runs.log").read_text()[-2000:])


def bring(home: Deployment, hour: int) -> None:
    """An hour's file: a site that is new in it, and a row that cannot be read."""
    rows = shopping(hour, hour + 1, each_hour=EVENTS_EACH_HOUR)[hour]
    path = home.add_file(f"{hour:02}.csv", [*rows, (hour * HOUR, f"new in {hour}", "item 1", 1)])
    path.write_text(path.read_text() + "never,site 1,item 1,1\n")


def test_killed_after_any_commit_and_run_again_gives_what_a_clean_run_gives(
    home: Deployment, runs: Runs, deploy: Deploy
) -> None:
    bring(home, 0)
    made: list[str] = []
    while (ended := runs.run(0, "made"))[0] == -SIGKILL:
        made.append(ended[1][-1][0])
    assert ended[0] == 0
    bring(home, 1)
    code, whole = runs.run(1, None)
    assert code == 0
    died_after: list[Point] = []
    epochs = 2
    while left := [point for point in whole if point not in died_after]:
        assert epochs < MOST_EPOCHS
        bring(home, epochs)
        code, commits = runs.run(epochs, left[0])
        if code == -SIGKILL:
            died_after.append(commits[-1])
            home.run(epochs, epochs + 1)
        else:  # this epoch had no such commit, for nobody had anything to say
            assert code == 0
        whole += [point for point in commits if point not in whole]
        epochs += 1
    print(f"died after making {made}; died after committing to {died_after}")

    clean = deploy("clean", source=CHECKED, monitors=MONITORS)
    for hour in range(epochs):
        bring(clean, hour)
    clean.run(0, epochs)
    written = {name for name, table in TABLES.items() if clean.rows(table)}
    assert set(made) == {table for table, _ in died_after} == written
    assert len(home.digests()) == epochs * len(MONITORS)
    assert home.digests() == clean.digests()
    assert home.published() == clean.published()
    assert_each_once(home, epochs)


def assert_each_once(home: Deployment, epochs: int) -> None:
    """No answer, message or event twice among the sealed rows, and none missing."""
    lake = home.context().lake
    for monitor in home.monitors:
        seals = lake.ledger.seals("shop", monitor["name"])
        for table, outputs in {MESSAGES: ["inbox", "messages"], DRAFTS: ["drafts"]}.items():
            rows = lake.sealed(table, seals, outputs, [("monitor", "=", monitor["name"])]).to_pylist()
            assert most_often(table, rows) == 1
    assert most_often(ANSWERS, home.rows(ANSWERS)) == 1
    landed, aside, landings = (sealed_landings(home, lake, table) for table in (EVENTS, QUARANTINE, LANDINGS))
    assert len(landed) == epochs * (EVENTS_EACH_HOUR + 1)
    assert len(aside) == len(landings) == epochs
    assert most_often(EVENTS, landed) == most_often(QUARANTINE, aside) == 1
    assert sum(row["read"] for row in landings) == len(landed) + len(aside)


def sealed_landings(home: Deployment, lake: Lake, table: Table) -> list[dict[str, Any]]:
    clock = home.context().config.source("shop").clock
    writes = [seal.write for seal in lake.ledger.journal("shop", clock)]
    return list(lake.of_writes(table, writes).to_pylist())


def most_often(table: Table, rows: list[dict[str, Any]]) -> int:
    """How often the most frequent key occurs."""
    return max(Counter(tuple(row[name] for name in table.key) for row in rows).values())
