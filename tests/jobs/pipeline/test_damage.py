"""Tables that come to harm: what is sealed and published afterwards is right, or the run says what is wrong.

Every way of damage is tried on every table. The run then goes on until what was damaged has left the window, because a
lost synopsis shows no earlier. Where a run fails, what its error says to do is done, and has to lead to the truth.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.lake.repair import repair
from monitoring_lib.epochs import parse_time, to_microseconds
from monitoring_lib.errors import CheckFailed, FarwatchError, NotNow, Transient
from monitoring_lib.tables import ANSWERS, TABLES
from tests.jobs.lake.damage import DAMAGES
from tests.jobs.sealed_home import SealedHome, bought

HOURS, SEALED, WINDOW = 6, 3, 2
MONITORS = [
    {
        "name": name, "question": "top-k", "source": "shop", "k": 3, "tolerance": 0, "method": method,
        "window": f"{WINDOW}h", "shadow": shadow,
    }
    for name, method, shadow in (("busiest", "caching", ["margins"]), ("steady", "margins", []))
]  # fmt: skip
EVENTS = [
    event
    for hour in range(HOURS)
    for event in bought(hour, north="aab" + "bcd"[hour % 3] * (hour + 1), south="cc" + "adb"[hour % 3] * (hour + 2))
]
NOT_MADE_HERE = {
    "quarantine", "verdicts", "audits", "alerts", "deliveries", "validations", "decisions", "references", "comparisons",
}  # fmt: skip
"""No such rows in a run without trouble, of files that are copied, and where nobody has kept a comparison."""
COMMANDS = re.compile(r"`farwatch ([^`]+)`")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment with three sealed epochs of six that have landed."""
    home = SealedHome(tmp_path_factory.mktemp("sound") / "home", MONITORS)
    home.land(EVENTS[: len(EVENTS) // 2], "data/one.csv")
    home.land(EVENTS[len(EVENTS) // 2 :], "data/two.csv")
    for hour in range(SEALED):
        home.run(hour, hour + 1)
    return home.home


def exact(hour: int) -> dict[str, int]:
    """The three largest sums of a window, ties by name, worked out from the events themselves."""
    sums = Counter(item for at, _, item in EVENTS if hour - WINDOW < at <= hour)
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:3])


def published(home: SealedHome, monitor: str) -> dict[int, dict[str, float]]:
    """By hour, as anyone may read it with any tool: of each epoch the last revision."""
    clock = home.context().config.source("shop").clock
    rows = [row for row in home.context().lake.centre.read(ANSWERS).to_pylist() if row["monitor"] == monitor]
    last: dict[int, int] = {}
    for row in rows:
        start = to_microseconds(row["epoch_start"])
        last[start] = max(row["revision"], last.get(start, 0))
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        start = to_microseconds(row["epoch_start"])
        if row["revision"] == last[start]:
            own = found.setdefault(clock.epoch_of(start), {})
            assert row["key"] not in own, f"{monitor} publishes {row['key']!r} twice in epoch {clock.epoch_of(start)}"
            own[row["key"]] = row["estimate"]
    return found


def run(home: SealedHome, *epochs: int, **how: Any) -> FarwatchError | None:
    """What a run of these epochs ends with."""
    try:
        home.run(*epochs, **how)
    except FarwatchError as error:
        return error
    return None


def follow(home: SealedHome, error: FarwatchError) -> None:
    """Does what an error says, as its commands are printed."""
    origin = parse_time("2020-01-01")
    for command in COMMANDS.findall(str(error)):
        verb, *words = shlex.split(command)
        if verb == "repair":
            [name] = words
            repair(home.context().lake.store_of(TABLES[name]), TABLES[name])
            continue
        assert verb == "run", command
        given = dict(zip(words[::2], words[1::2], strict=True))
        first, end = ((parse_time(given[name]) - origin) // 3_600_000_000 for name in ("--from", "--to"))
        only = given["--monitors"].split(",") if "--monitors" in given else None
        run(home, first, end, revise=given.get("--revise", ""), only=only)


def go_on(home: SealedHome) -> list[FarwatchError]:
    """Runs the epochs that are left; where one fails, does what its error says, and runs it again."""
    told: list[FarwatchError] = []
    for hour in range(SEALED, HOURS):
        for _ in range(8):
            error = run(home, hour, hour + 1)
            if error is None:
                break
            told.append(error)
            follow(home, error)
    return told


QUICK = {
    "lose_newest_commit": {
        "answers",
        "arrivals",
        "cursors",
        "drafts",
        "epochs",
        "messages",
        "site_states",
        "states",
        "synopses",
    },
    "double_rows": {"answers", "messages", "synopses"},
    "change_payload": {"answers", "cursors", "states", "synopses"},
    "lose_data_file": {"messages"},
    "lose_checkpoint": {"states"},
}
"""What the default run tries; the rest takes minutes."""
MATRIX = [
    pytest.param(table, damage, marks=() if table in QUICK.get(damage, ()) else pytest.mark.long)
    for table in sorted(TABLES.keys() - NOT_MADE_HERE)
    for damage in DAMAGES
]


@pytest.mark.parametrize(("table", "damage"), MATRIX)
def test_after_damage_answers_are_right_or_the_run_says_what_is_wrong(
    sound: Path, tmp_path: Path, table: str, damage: str
) -> None:
    shutil.copytree(sound, tmp_path / "home")
    home = SealedHome(tmp_path / "home", MONITORS, events=EVENTS, landing=2)
    folder = tmp_path / "home" / "var" / ("sites" if TABLES[table].at_sites else "coordinator") / table
    DAMAGES[damage](folder, TABLES[table])
    told = go_on(home)
    for error in told:
        assert not isinstance(error, Transient), f"a permanent fault is not worth retrying: {error}"
        assert f"`{table}`" in str(error) or isinstance(error, NotNow), f"the table is not named: {error}"
    for monitor in MONITORS:
        for hour, answer in published(home, str(monitor["name"])).items():
            assert answer == exact(hour), f"{monitor['name']}, epoch {hour}, after {told}"


def test_rows_of_many_epochs_that_are_gone_are_made_again_by_one_command_for_all_monitors(
    sound: Path, tmp_path: Path
) -> None:
    shutil.copytree(sound, tmp_path / "home")
    home = SealedHome(tmp_path / "home", MONITORS, events=EVENTS, landing=2)
    shutil.rmtree(tmp_path / "home" / "var" / "coordinator" / "cursors")
    error = run(home, SEALED, SEALED + 1)
    assert isinstance(error, CheckFailed)
    [command] = COMMANDS.findall(str(error))
    assert command.split()[4] == "2020-01-01"
    follow(home, error)
    assert run(home, SEALED, SEALED + 1) is None
    assert {name: published(home, name)[SEALED] for name in ("busiest", "steady")} == dict.fromkeys(
        ("busiest", "steady"), exact(SEALED)
    )


def test_a_corrupt_payload_is_named_with_its_site_and_stops_its_own_monitor_only(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "home")
    home = SealedHome(tmp_path / "home", MONITORS, events=EVENTS, landing=2)
    table = TABLES["site_states"]
    folder = tmp_path / "home" / "var" / "sites" / table.name
    rows = DeltaTable(folder).to_pyarrow_table().cast(table.schema).to_pylist()
    hit = [row for row in rows if (row["monitor"], row["site"]) == ("busiest", "south")]
    for row in hit:
        row["payload"] = row["payload"][:-1] + bytes([row["payload"][-1] ^ 1])
    write_deltalake(folder, pa.Table.from_pylist(rows, table.schema), mode="overwrite", partition_by=["day"])
    error = run(home, SEALED, SEALED + 1)
    assert isinstance(error, CheckFailed)
    assert "busiest is not sealed: epoch 2020-01-01" in str(error)
    assert "the table `site_states` is damaged" in str(error)
    assert "the payload of 'south' is corrupt" in str(error)
    assert "steady" not in str(error)
    ledger = home.context().lake.ledger
    assert [len(ledger.seals("shop", name)) for name in ("busiest", "steady")] == [SEALED, SEALED + 1]
