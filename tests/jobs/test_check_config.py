"""`farwatch check-config`."""

from __future__ import annotations

import json

import pytest

from jobs.check_config import run
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
