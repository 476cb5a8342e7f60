"""The door to Great Expectations: answers by row, leaves nothing behind, says nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from jobs.quality.validation import Check, FailedCheck, broken_checks
from monitoring_lib.errors import ExpectationFailed

ROOT = Path(__file__).parents[3]


def at_most(most: float, column: str = "n", **more: str) -> Check:
    return Check(
        f"{column} at most {most}",
        "ExpectColumnValuesToBeBetween",
        {"column": column, "max_value": most},
        **more,
    )  # type: ignore[arg-type]


def test_broken_checks_name_their_rows_in_the_order_of_the_checks() -> None:
    frame = pd.DataFrame({"n": [1.0, 5.0, None, 3.0], "other": [9, 9, 9, 9]})
    checks = [at_most(4, severity="warning"), at_most(8, "other"), at_most(2), at_most(5)]
    assert list(broken_checks(frame, checks).items()) == [
        ("n at most 4", FailedCheck("warning", [1])),
        ("other at most 8", FailedCheck("critical", [0, 1, 2, 3])),
        ("n at most 2", FailedCheck("critical", [1, 3])),
    ]


def test_one_frame_says_nothing_about_the_next() -> None:
    assert broken_checks(pd.DataFrame({"n": [5]}), [at_most(4)])
    assert not broken_checks(pd.DataFrame({"n": [4]}), [at_most(4)])
    assert broken_checks(pd.DataFrame({"n": [4, 5]}), [at_most(4)])["n at most 4"].rows == [1]


def test_a_check_that_cannot_be_evaluated_is_an_error_and_no_finding() -> None:
    with pytest.raises(ExpectationFailed, match=r'nowhere at most 4 could not be evaluated: .*"nowhere"'):
        broken_checks(pd.DataFrame({"n": [4]}), [at_most(4), at_most(4, "nowhere")])


def test_only_the_checks_and_their_pages_know_great_expectations() -> None:
    modules = [path for top in ("jobs", "monitoring_lib", "dags") for path in (ROOT / top).rglob("*.py")]
    knowing = [path for path in modules if re.search(r"^\s*(import|from) great_expectations", path.read_text(), re.M)]
    assert sorted(path.relative_to(ROOT).as_posix() for path in knowing) == [
        "jobs/quality/docs.py",
        "jobs/quality/validation.py",
    ]


def test_nothing_is_written_sent_or_said(tmp_path: Path) -> None:
    code = """
import socket, sys
def refuse(*args): raise AssertionError(f"a connection was opened: {args}")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
import pandas as pd
from jobs.quality.validation import Check, _frames, broken_checks
checks = [
    Check("least", "ExpectColumnValuesToBeBetween", {"column": "n", "min_value": 2}),
    Check("key", "ExpectCompoundColumnsToBeUnique", {"column_list": ["n", "m"]}),
]
assert set(broken_checks(pd.DataFrame({"n": [1, 1], "m": [1, 1]}), checks)) == {"least", "key"}
assert not broken_checks(pd.DataFrame({"n": [2, 3], "m": [1, 1]}), checks)
context = _frames().data_asset.datasource.data_context
assert context.config.analytics_enabled is False
"""
    folders = {name: tmp_path / name for name in ("home", "here", "temporary")}
    for folder in folders.values():
        folder.mkdir()
    environment = {"HOME": folders["home"], "TMPDIR": folders["temporary"], "PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folders["here"], capture_output=True, text=True,
        env={name: str(path) for name, path in environment.items()}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path for folder in folders.values() for path in folder.rglob("*")] == []
