"""The sites' tables come to harm under a running Spark; what is printed is run as printed, and leads to the truth."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.spark.session import REMOTE
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import ANSWERS, EVENTS, LANDINGS, SYNOPSES, Table
from tests.jobs.lake.damage import double_rows, lose_newest_commit
from tests.jobs.pipeline.deployment import HOUR, ONE_PARTITION, Deployment, shopping

pytestmark = [pytest.mark.spark, pytest.mark.slow]
HOURS, WINDOW = 5, 2
MONITOR = {
    "name": "recent", "question": "top-k", "source": "shop", "k": 3, "tolerance": 0, "window": f"{WINDOW}h",
    "method": "caching",
}  # fmt: skip
ROWS = shopping(7, HOURS, sites=3, items=6, each_hour=30)
OWN_SPARK = {REMOTE: ""}
"""A server would still count on a commit that is gone, and be told apart; a session of its own looks anew."""
COMMANDS = re.compile(r"`farwatch ([^`]+)`")


def exact(hour: int) -> list[tuple[str, float]]:
    sums = Counter(item for at in range(max(0, hour - WINDOW + 1), hour + 1) for _, _, item, _ in ROWS[at])
    return sorted(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:3])


def published(home: Deployment) -> dict[int, list[tuple[str, float]]]:
    origin = 1_577_836_800 * 10**6
    rows = home.rows(ANSWERS)
    last = {row["epoch_start"]: 0 for row in rows} | {
        start: max(row["revision"] for row in rows if row["epoch_start"] == start)
        for start in {row["epoch_start"] for row in rows}
    }
    found: dict[int, list[tuple[str, float]]] = {}
    for row in rows:
        if row["revision"] == last[row["epoch_start"]]:
            hour = (to_microseconds(row["epoch_start"]) - origin) // (HOUR * 10**6)
            found.setdefault(hour, []).append((row["key"], row["estimate"]))
    return {hour: sorted(own) for hour, own in found.items()}


def run(home: Deployment, hour: int, **environment: str) -> tuple[int, str]:
    span = ["--from", f"2020-01-01T0{hour}:00", "--to", f"2020-01-01T0{hour + 1}:00"]
    done = home.command("run", "--source", "shop", *span, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


def folder(home: Deployment, table: Table) -> Path:
    return Path(home.context().lake.store_of(table).location(table))


@pytest.fixture
def home(deploy: Callable[..., Deployment]) -> Deployment:
    """Two sealed hours, each landed by a file of its own."""
    home = deploy(monitors=(MONITOR,), settings=ONE_PARTITION)
    for hour in range(2):
        home.add_file(f"{hour}.csv", ROWS[hour])
        home.run(hour, hour + 1)
    return home


@pytest.mark.long
def test_a_lost_synopsis_shows_when_it_leaves_the_window_and_the_printed_command_mends_it(home: Deployment) -> None:
    lose_newest_commit(folder(home, SYNOPSES), SYNOPSES)
    told = ""
    for hour in range(2, HOURS):
        home.add_file(f"{hour}.csv", ROWS[hour])
        code, said = run(home, hour, **OWN_SPARK)
        if code:
            assert code == 1, said
            assert "recent, epoch 2020-01-01T01:00Z: the table `synopses` is damaged" in said
            told = said
            for command in COMMANDS.findall(said.splitlines()[-1]):
                mended = home.command(*shlex.split(command), **OWN_SPARK)
                assert mended.returncode == 0, mended.stderr
            assert run(home, hour, **OWN_SPARK)[0] == 0
    assert told
    assert published(home) == {hour: exact(hour) for hour in range(HOURS)}


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        (EVENTS, lose_newest_commit),
        pytest.param(LANDINGS, lose_newest_commit, marks=pytest.mark.long),
        pytest.param(EVENTS, double_rows, marks=pytest.mark.long),
        pytest.param(LANDINGS, double_rows, marks=pytest.mark.long),
    ],
    ids=lambda one: one.name if isinstance(one, Table) else one.__name__,
)  # fmt: skip
def test_lost_or_doubled_events_and_landings_stop_the_run_before_a_number_is_wrong(
    home: Deployment, table: Table, damage: Callable[[Path, Table], None]
) -> None:
    home.add_file("2.csv", ROWS[2])
    assert home.command("land", "--source", "shop", "--from", "2020-01-01", "--to", "2020-01-01T01:00").returncode == 0
    damage(folder(home, table), table)
    code, said = run(home, 2)
    assert code == 1, said
    assert f"the table `{table.name}` is damaged" in said
    assert "Restore it from a copy" in said
    assert published(home) == {hour: exact(hour) for hour in range(2)}
