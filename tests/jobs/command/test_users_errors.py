"""Errors that a user will make: each ends with the code of its kind, names what is wrong, and says what to do."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jobs.command import cli
from monitoring_lib.errors import ExitCode
from tests.jobs.sealed_home import SealedHome, bought

SOURCE = "format: csv\npath: data/*.csv\ncolumns: {time: time, site: site, item: item}\nepoch: 1h\norigin: 2020-01-01\n"
MONITOR = "question: top-k\nsource: shop\nk: 2\n"
ROWS = "time,site,item,price\n2020-01-01T00:10:00Z,north,a,1.5\n"


@dataclass(frozen=True)
class Mistake:
    """A command line, with files that are written before it, and what must be said."""

    command: str
    code: ExitCode
    wrong: str
    remedy: str
    files: dict[str, str] = field(default_factory=dict)


def monitor(text: str) -> dict[str, str]:
    return {"conf/base/monitors/busiest.yml": text}


MISTAKES = {
    "called in another folder": Mistake(
        "status", ExitCode.WRONG_USE, "nowhere/base: there is no such folder", "set FARWATCH_CONF to the folder",
        {"FARWATCH_CONF": "nowhere"},
    ),
    "a monitor's name misspelt": Mistake(
        "query buisest", ExitCode.WRONG_USE, "buisest", "did you mean 'busiest'?"
    ),
    "a source's name misspelt": Mistake(
        "run --source shops --from 2020-01-01 --to 2020-01-02", ExitCode.WRONG_USE, "shops", "did you mean 'shop'?"
    ),
    "a key misspelt": Mistake(
        "check-config", ExitCode.WRONG_USE, "busiest.yml:4: tolerence: 5: unknown key", "did you mean 'tolerance'?",
        monitor(MONITOR + "tolerence: 5\n"),
    ),
    "a question misspelt": Mistake(
        "check-config", ExitCode.WRONG_USE, "unknown question 'topk'", "did you mean 'top-k'?",
        monitor("question: topk\nsource: shop\nk: 2\n"),
    ),
    "YAML that is none": Mistake(
        "check-config", ExitCode.WRONG_USE, "busiest.yml:3", "is not YAML", monitor("question: top-k\n\n\tk: 2\n")
    ),
    "a window that is not whole epochs": Mistake(
        "check-config", ExitCode.WRONG_USE, "window: '90m'", "1h", monitor(MONITOR + "window: 90m\n")
    ),
    "a column that the file lacks": Mistake(
        "check-config", ExitCode.WRONG_USE, "has no column 'produkt'", "its columns: time, site, item, price",
        {"conf/base/sources/shop.yml": SOURCE.replace("item: item", "item: produkt")},
    ),
    "times in another format": Mistake(
        "check-config", ExitCode.WRONG_USE, "none of its first 1 rows can become an event", "time",
        {"data/a.csv": "time,site,item\n01/02/2020 10:00,north,a\n"},
    ),
    "fractions without a scale": Mistake(
        "check-config", ExitCode.WRONG_USE, "none of its first 1 rows can become an event", "scale",
        {"conf/base/sources/shop.yml": SOURCE.replace("item: item", "item: item, value: price")},
    ),
    "a time in words": Mistake(
        "run --source shop --from yesterday --to 2020-01-02", ExitCode.WRONG_USE, "--from/--to: 'yesterday'",
        "2001-01-31",
    ),
    "a range that is no whole epochs": Mistake(
        "run --source shop --from 2020-01-01T00:30 --to 2020-01-01T02:00", ExitCode.WRONG_USE, "no border of an epoch",
        "the nearest are 2020-01-01 and 2020-01-01T01:00Z",
    ),
    "an epoch that is not sealed": Mistake(
        "query busiest --epoch 2020-01-01T05:00", ExitCode.NOT_NOW, "epoch 2020-01-01T05:00Z is not sealed",
        "go on by `farwatch run --source shop --from 2020-01-01T01:00Z",
    ),
    "SQL over a column that is not there": Mistake(
        "query --sql SELECT_item_FROM_answers", ExitCode.WRONG_USE, '"item" not found', "Candidate bindings",
    ),
    "SQL that changes something": Mistake(
        "query --sql DROP_TABLE_answers", ExitCode.WRONG_USE, "--sql", "SELECT"
    ),
    "a step called by itself": Mistake(
        "seal --source shop --from 2020-01-01 --to 2020-01-01T01:00", ExitCode.WRONG_USE, "needs the hand-over",
        "--given",
    ),
    "a site that was not set aside": Mistake(
        "admit shop --site nroth --epoch 2020-01-01 --reason why", ExitCode.WRONG_USE, "nroth", "`farwatch status`"
    ),
    "a file that is not there": Mistake(
        "init data/sale.csv --yes", ExitCode.WRONG_USE, "data/sale.csv: there is no such file",
        "did you mean 'sales.csv'?",
        {"data/sales.csv": ROWS},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment with one sealed epoch."""
    home = SealedHome(tmp_path_factory.mktemp("sealed"))
    home.land(bought(0, north="aab", south="b"))
    home.run(0, 1)
    return home.home


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_says_what_to_do(
    name: str, sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mistake, home = MISTAKES[name], tmp_path / "home"
    shutil.copytree(sealed, home)
    written = {"conf/base/sources/shop.yml": SOURCE, "data/a.csv": ROWS} | monitor(MONITOR) if mistake.files else {}
    for path, text in (written | mistake.files).items():
        if "/" in path:
            (home / path).write_text(text, "utf-8")
    monkeypatch.chdir(home)
    monkeypatch.setenv("FARWATCH_HOME", str(home))
    monkeypatch.setenv("FARWATCH_CONF", mistake.files.get("FARWATCH_CONF", "conf"))
    monkeypatch.setenv("FARWATCH_ENV", "local")
    monkeypatch.setattr("sys.argv", ["farwatch", *(word.replace("_", " ") for word in mistake.command.split())])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    said = told.out + told.err
    assert (ended.value.code, mistake.wrong in said, mistake.remedy in said) == (mistake.code, True, True), said
    assert "Traceback" not in said
