"""The `farwatch` command: what it offers, how it fails, and what it does not load."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from jobs.command.cli import app
from monitoring_lib.errors import ExitCode
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

COMMANDS = {
    "land", "gate", "summarise", "observe", "resolve", "validate", "seal", "alert", "run", "up", "down",
    "query", "status", "inspect", "simulate", "check-config", "demo", "admit", "reject", "repair", "audit", "retire",
    "backfill", "maintain", "report", "doctor", "init", "quality", "plan",
}  # fmt: skip
HEAVY = ("pyspark", "py4j", "great_expectations", "airflow", "pandas", "numba", "scipy", "matplotlib")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    shop = SealedHome(tmp_path_factory.mktemp("shop"), monitors=[BUSIEST])
    shop.land(bought(0, north="aaaaabbb", south="aaaa"))
    shop.run(0, 1)
    return shop


def loaded(home: SealedHome, *arguments: str) -> list[str]:
    """The heavy modules that a command has loaded by its end."""
    script = (
        "import json, sys\n"
        "from jobs.command.cli import app\n"
        "app(sys.argv[2:], standalone_mode=False)\n"
        "print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(HEAVY), *arguments], env=os.environ | home.environment,
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found: list[str] = json.loads(done.stderr.splitlines()[-1])
    return found


def test_help_lists_every_command_with_a_sentence(home: SealedHome) -> None:
    done = home.command("--help", COLUMNS="120")
    assert done.returncode == 0
    listed = dict(re.findall(r"│ ([a-z][a-z-]+) +(\S.*?) *│", done.stdout))
    assert listed.keys() == COMMANDS
    assert set(typer.main.get_group(app).commands) == COMMANDS


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("run", "--help"),
        ("query", "busiest", "--history", "2"),
        ("query", "busiest", "--json"),
        ("query", "--sql", "SELECT * FROM messages_readable, events, states, site_states"),
        ("status",),
        ("inspect", "busiest"),
        ("inspect", "busiest", "--what", "state", "--site", "north"),
    ],
)
def test_help_and_looking_need_no_jvm_and_load_nothing_heavy(home: SealedHome, arguments: tuple[str, ...]) -> None:
    assert loaded(home, *arguments) == []


def test_looking_writes_nothing(home: SealedHome, tmp_path: Path) -> None:
    def files() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in sorted(home.home.rglob("*"))}

    before = files()
    for arguments in (("query", "busiest"), ("query", "--sql", "FROM answers"), ("status",), ("inspect", "busiest")):
        # With a hash seed of its own, the process is no copy of one that has imported everything.
        assert home.command(*arguments, HOME=str(tmp_path), PYTHONHASHSEED="1").returncode == 0
    assert files() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("query", "busyest"), ExitCode.WRONG_USE, "unknown monitor 'busyest'; did you mean 'busiest'?"),
        (("query", "busiest", "--epoch", "soon"), ExitCode.WRONG_USE, "'soon' is not an ISO 8601 time"),
        (("query", "busiest", "--epoch", "2021-01-01"), ExitCode.NOT_NOW, "epoch 2021-01-01 is not sealed"),
        (("query", "--sql", "SELEC"), ExitCode.WRONG_USE, "syntax error"),
        (("inspect", "busyest"), ExitCode.WRONG_USE, "did you mean 'busiest'?"),
        (("simulate", "nowhere.yml"), ExitCode.WRONG_USE, "nowhere.yml"),
        (
            ("run", "--source", "shap", "--from", "2020-01-01", "--to", "2020-01-02"),
            ExitCode.WRONG_USE, "unknown source 'shap'; did you mean 'shop'?",
        ),
        (
            ("run", "--source", "shop", "--from", "2020-01-01T00:30", "--to", "2020-01-02"),
            ExitCode.WRONG_USE, "the nearest are 2020-01-01 and 2020-01-01T01:00Z",
        ),
        (
            ("gate", "--source", "shop", "--from", "2020-01-02", "--to", "2020-01-01"),
            ExitCode.WRONG_USE, "holds no epoch of shop",
        ),
        (("land", "--source", "shop"), ExitCode.WRONG_USE, "--from"),
        (("quary",), ExitCode.WRONG_USE, "quary"),
    ],
)  # fmt: skip
def test_a_wrong_word_is_one_sentence_and_its_exit_code(
    home: SealedHome, arguments: tuple[str, ...], code: ExitCode, sentence: str
) -> None:
    done = home.command(*arguments)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_check_config_ends_with_2_and_every_fault_where_there_are_some(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path)
    assert shop.command("check-config").returncode == ExitCode.DONE
    shop.monitors = [BUSIEST | {"tolerence": 3, "k": 0}]
    shop.configure()
    done = shop.command("check-config")
    assert done.returncode == ExitCode.WRONG_USE
    assert "tolerence" in done.stdout
    assert "2 faults in 1 file" in done.stdout
    looking = shop.command("status")
    assert looking.returncode == ExitCode.WRONG_USE
    assert "tolerence" in looking.stderr


def test_a_simulation_runs_from_the_command_line(tmp_path: Path, home: SealedHome) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time,site,item\n2020-01-01T00:00:01,north,a\n2020-01-01T00:00:02,south,a\n", encoding="utf-8")
    monitor = tmp_path / "monitor.yml"
    monitor.write_text("question: top-k\nk: 1\n", encoding="utf-8")
    done = home.command("simulate", str(monitor), "--trace", str(trace), "--epoch", "1h", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["monitor"] == "monitor"


def test_the_documentation_has_every_command_with_its_options(project: Path) -> None:
    text = (project / "docs" / "commands.md").read_text(encoding="utf-8")
    for name, command in typer.main.get_group(app).commands.items():
        assert re.search(rf"^### `farwatch .*\b{name}\b", text, re.MULTILINE), name
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        if name != "simulate":  # has a page of its own
            assert [option for option in options if option not in text] == []
    for code in ExitCode:
        assert f"| {code.value} |" in text


def test_colours_are_for_terminals_only(home: SealedHome) -> None:
    assert "\x1b" not in home.command("query", "busiest", TERM="xterm-256color").stdout
