"""The tool that prints the longest chain of imports."""

from __future__ import annotations

import subprocess
import sys
from graphlib import CycleError
from pathlib import Path

import pytest

from import_chain import longest_chain

TOOL = Path(__file__).resolve().parents[2] / "tools" / "import_chain.py"


def test_the_longest_chain_begins_with_the_importer() -> None:
    assert longest_chain({"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}) == ["a", "b", "c"]


def test_modules_that_import_each_other_are_named() -> None:
    with pytest.raises(CycleError) as caught:
        longest_chain({"a": {"b"}, "b": {"a"}})
    assert set(caught.value.args[1]) == {"a", "b"}


def test_the_project_has_no_cycle() -> None:
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
