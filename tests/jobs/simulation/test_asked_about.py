"""`farwatch simulate` asks about the events that the monitor names: where, measures, further values, wide rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jobs.command.cli import app
from monitoring_lib.errors import ConfigError

TRACE = """\
time,site,item,bytes,status
2024-05-01T00:00:05Z,paris,apple,3,200
2024-05-01T00:00:07Z,paris,pear,10.5,500
2024-05-01T00:00:31Z,oslo,apple,,200
2024-05-01T00:00:12Z,oslo,fig,9,200
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))
    Path("t.csv").write_text(TRACE, "utf-8")


def simulate(monitor: str, *options: str) -> Result:
    Path("m.yml").write_text(f"question: top-k\nk: 9\nmethod: caching\n{monitor}", "utf-8")
    return CliRunner().invoke(app, ["simulate", "m.yml", "--trace", "t.csv", "--epoch", "10s", "--json", *options])


def ranking(result: Result) -> dict[str, float]:
    assert result.exit_code == 0, result.output
    return {row["key"]: row["estimate"] for row in json.loads(result.stdout)["methods"]["caching"]["answers"]}


@pytest.mark.parametrize(
    ("monitor", "expected"),
    [
        ("where: status = '200'\n", {"apple": 2, "fig": 1}),
        ("where: bytes > 8.5\n", {"pear": 1, "fig": 1}),
        ("where: bytes is null or length(item) < 4\nmeasure: count\n", {"apple": 1, "fig": 1}),
        ("measure: sum(bytes)\n", {"apple": 3, "pear": 10.5, "fig": 9}),
        ("item: concat(item, '@', site)\nwhere: not starts_with(item, 'p')\n",
         {"apple@paris": 1, "apple@oslo": 1, "fig@oslo": 1}),
    ],
)  # fmt: skip
def test_only_what_is_asked_about_counts(monitor: str, expected: dict[str, Any]):
    scale = ["--scale", "10"] if "sum(bytes)" in monitor or "bytes >" in monitor else []
    assert ranking(simulate(monitor, *scale)) == expected


def test_a_column_of_values_may_have_another_name_in_the_file():
    monitor = "measure: sum(size)\nwhere: size < 10\n"
    assert ranking(simulate(monitor, "--scale", "10", "--columns", "size=bytes")) == {"apple": 3, "fig": 9}


@pytest.mark.parametrize(
    ("monitor", "told"),
    [
        ("where: bytes >\n", "m.yml:4: where: 'bytes >': position 8"),
        ("where: item > 3 and item = 'x'\n", "monitor m: where: \"item > 3 and item = 'x'\":"),
        ("tick: 3s\n", "monitor m: tick: '3s': does not divide the epoch of 10s"),
        ("window: 15s\n", "monitor m: window: '15s': is not a whole number of epochs of 10s; write 10s or 20s"),
    ],
)
def test_what_cannot_be_asked_is_told_with_exit_code_2(monitor: str, told: str):
    error = simulate(monitor).exception
    assert isinstance(error, ConfigError)
    assert error.exit_code == 2
    assert told in str(error)


def test_wide_rows_of_a_source_are_replayed(tmp_path: Path):
    source = """\
format: csv
path: t.csv
columns: {time: day, site: vm}
unpivot: {columns: c0..c3, name: slot}
epoch: 10m
tick: 5m
origin: 2024-05-01
"""
    (tmp_path / "conf" / "base" / "sources").mkdir(parents=True)
    (tmp_path / "conf" / "base" / "sources" / "cpu.yml").write_text(source, "utf-8")
    Path("t.csv").write_text("day,vm,c0,c1,c2,c3\n2024-05-01,a,1,2,,4\n2024-05-01,b,5,6,7,8\n", "utf-8")
    text = "question: top-k\nk: 9\nmethod: caching\nsource: cpu\nitem: slot\nmeasure: sum(value)\nwindow: 10m\n"
    Path("m.yml").write_text(text, "utf-8")
    result = CliRunner().invoke(app, ["simulate", "m.yml", "--json"])
    assert ranking(result) == {"3": 12, "2": 7}
