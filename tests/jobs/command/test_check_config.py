"""`farwatch check-config`."""

from __future__ import annotations

import json

import pytest

from jobs.command.check_config import run
from monitoring_lib.errors import ExitCode


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "base" / "monitors").mkdir(parents=True)
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path))
    monkeypatch.delenv("FARWATCH_ENV", raising=False)
    return tmp_path


def test_the_shipped_configuration_passes_and_says_what_there_is(project, monkeypatch, capsys):
    monkeypatch.setenv("FARWATCH_CONF", str(project / "conf"))
    monkeypatch.delenv("FARWATCH_ENV", raising=False)
    assert run() == ExitCode.DONE
    assert capsys.readouterr().out.splitlines()[-1] == "no faults; 1 source in environment local"


def test_all_faults_are_printed_with_their_count_and_a_wrong_use_code(folder, capsys):
    (folder / "base" / "monitors" / "one.yml").write_text("question: top-k\nk: 1\nsource: nowhere\n")
    (folder / "base" / "monitors" / "two.yml").write_text("question: top-k\nkk: 1\nsource: nowhere\n")
    assert run() == ExitCode.WRONG_USE
    lines = capsys.readouterr().out.splitlines()
    place = f"{folder}/base/monitors/one.yml:3"
    assert lines[0] == f"{place}: source: 'nowhere': there is no such source; add a file to sources/"
    assert lines[-1] == "4 faults in 2 files"
    assert len(lines) == 5


def test_json_gives_the_parts_of_each_fault(folder, capsys):
    (folder / "base" / "farwatch.yml").write_text("\nsites_run: both\n")
    assert run(as_json=True) == ExitCode.WRONG_USE
    found = json.loads(capsys.readouterr().out)
    assert (found["count"], found["environment"]) == (1, "local")
    assert found["faults"] == [
        {
            "file": f"{folder}/base/farwatch.yml", "line": 2, "field": "sites_run", "value": "'both'",
            "problem": "is not valid", "remedy": "it should be 'auto', 'process' or 'spark'",
        }
    ]  # fmt: skip


def test_many_faults_are_cut_in_both_forms(folder, capsys):
    (folder / "base" / "farwatch.yml").write_text("".join(f"key{number}: 1\n" for number in range(70)))
    run()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["... and 20 more", "70 faults in 1 file"]
    run(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["count"], len(found["faults"])) == (70, 50)


SOURCE = """
format: csv
path: data/*.csv
columns: {time: at, site: site, item: item}
epoch: 1h
origin: 2020-01-01
"""


@pytest.fixture
def shop(folder, monkeypatch):
    """A source whose files lie in `data` below the folder."""
    (folder / "base" / "sources").mkdir()
    (folder / "base" / "sources" / "shop.yml").write_text(SOURCE)
    (folder / "data").mkdir()
    monkeypatch.setenv("FARWATCH_HOME", str(folder))
    return folder


def test_a_path_that_fits_no_file_is_told(shop, capsys):
    assert run() == ExitCode.DONE
    told = capsys.readouterr().out
    assert "warning: no file matches the path 'data/*.csv'" in told
    assert run(as_json=True) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["data"]["shop"]["files"] == 0


def test_the_first_rows_are_read_as_they_would_land(shop, capsys):
    (shop / "data" / "a.csv").write_text("at,site,item\n2020-01-01,s,i\n2020-01-01,s,\nyesterday,s,i\n")
    assert run() == ExitCode.DONE
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == ["shop: 0 monitors", "1 file of 56 B"]
    assert lines[2].endswith("/data/a.csv: at, site, item")
    assert lines[3] == "its first 3 rows: 1 event, 2 faulty"
    assert sorted(lines[4:6]) == ["1 row: item is empty", "1 row: time is neither ISO 8601 nor seconds since 1970"]
    assert "yesterday" not in " ".join(lines)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("when,site,item\n2020-01-01,s,i\n", "has no column 'at'"),
        ("at,site,item\n01/02/2020,s,i\n", "none of its first 1 rows can become an event; most often: time is neither"),
    ],
)
def test_files_that_could_not_land_are_a_fault_unless_they_are_not_looked_at(shop, capsys, content, fault):
    (shop / "data" / "a.csv").write_text(content)
    assert run() == ExitCode.WRONG_USE
    assert fault in capsys.readouterr().out
    assert run(data=False) == ExitCode.DONE
