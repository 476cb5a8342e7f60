"""The lock file: it satisfies pyproject.toml, every package has hashes, and no file names a registry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ; .*?)? \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", re.MULTILINE)
WANTED = [
    *PROJECT["project"]["dependencies"],
    *(one for name, extra in PROJECT["project"]["optional-dependencies"].items() if name != "all" for one in extra),
    *PROJECT["dependency-groups"]["dev"],
    *PROJECT["build-system"]["requires"],
]


def locked() -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for name, version, _ in ENTRY.findall(LOCK):
        versions.setdefault(canonicalize_name(name), []).append(version)
    return versions


@pytest.mark.parametrize("wanted", WANTED)
def test_the_lock_satisfies_what_the_project_asks_for(wanted: str) -> None:
    requirement = Requirement(wanted)
    versions = locked().get(canonicalize_name(requirement.name), [])
    assert versions, f"{wanted} is not locked: run make lock"
    assert all(requirement.specifier.contains(version) for version in versions)


def test_every_locked_package_has_hashes() -> None:
    pinned = re.findall(r"^[A-Za-z0-9].*==", LOCK, re.MULTILINE)
    assert len(pinned) == len(ENTRY.findall(LOCK)) > 100


@pytest.mark.parametrize(
    "name", ["requirements.lock", "requirements-docs.lock", "pyproject.toml", "Makefile", ".ci/run", "tools"]
)
def test_no_file_of_the_set_up_names_a_registry(name: str) -> None:
    path = ROOT / name
    for file in [path] if path.is_file() else sorted(path.glob("*.*")):
        if file.is_file():
            assert not re.search(r"https?://|--(extra-)?index-url \S|pypi\.org|maven\.org", file.read_text()), file


def test_no_import_contract_has_an_exception() -> None:
    for contract in PROJECT["tool"]["importlinter"]["contracts"]:
        assert not {key for key in contract if key.startswith(("ignore", "unmatched"))}, contract
