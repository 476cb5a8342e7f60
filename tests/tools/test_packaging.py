"""What is imported is declared, in the extra that needs it; what is declared is imported; the rest stays outside."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from jobs.command.cli import OF_SPARK
from monitoring_lib import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
IMPORTED_AS = {"pyyaml": "yaml", "apache-airflow": "airflow"}
"""Distributions whose module has another name."""
EXTRAS_OF = {
    "monitoring_lib": [],
    "jobs": ["spark"],
    "farwatch_airflow": ["airflow"],
    "dags": ["airflow"],
}
"""The extras that may be expected beside each package."""


def declared(*extras: str) -> set[str]:
    """Names of modules that are there after an installation with these extras."""
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        wanted += PROJECT["project"]["optional-dependencies"][extra]
    names = [canonicalize_name(Requirement(one).name) for one in wanted]
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def imported(package: str) -> dict[str, set[str]]:
    """Modules of others that a package imports, anywhere in its files, and where."""
    own = {*EXTRAS_OF, "tests", "benchmarks"}
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in (name.partition(".")[0] for name in names):
                if name not in sys.stdlib_module_names and name not in own:
                    found.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("package", EXTRAS_OF)
def test_every_import_is_declared_in_the_right_extra(package: str) -> None:
    undeclared = {name: files for name, files in imported(package).items() if name not in declared(*EXTRAS_OF[package])}
    assert undeclared == {}


def test_everything_declared_is_imported() -> None:
    used = {name for package in EXTRAS_OF for name in imported(package)}
    assert declared("spark", "airflow") - used == set()


def test_all_is_every_extra_but_the_drivers_of_a_cluster() -> None:
    [everything] = map(Requirement, PROJECT["project"]["optional-dependencies"]["all"])
    assert everything.name == PROJECT["project"]["name"]
    assert everything.extras == set(PROJECT["project"]["optional-dependencies"]) - {"all", "cluster"}


def test_the_command_the_package_and_the_image_have_one_version() -> None:
    assert PROJECT["project"]["version"] == __version__
    [image] = re.findall(r"image: farwatch:(\S+)", (ROOT / "docker" / "compose.yml").read_text())
    assert image == __version__


HOOK = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
from {entry} import main
main()
"""
ABSENT = ("airflow", "pyspark", "delta", "deltalake", "great_expectations", "duckdb", "pandas")
MONITOR = "question: top-k\nk: 3\ntolerance: 2\nmethod: margins\n"


def farwatch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command where no extra is installed."""
    entry = PROJECT["project"]["scripts"]["farwatch"].partition(":")[0]
    script = HOOK.format(absent=ABSENT, entry=entry)
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_simulate_makes_and_replays_a_trace_without_any_extra(tmp_path: Path) -> None:
    made = farwatch(tmp_path, "simulate", "--generate", "cdn", "--out", "trace", "--sites", "4", "--hours", "3")
    assert made.returncode == 0, made.stderr
    (tmp_path / "busiest.yml").write_text(MONITOR)
    replay = ["simulate", "busiest.yml", "--trace", "trace/*.csv.gz", "--epoch", "1h", "--out", "tables", "--json"]
    done = farwatch(tmp_path, *replay)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert sorted(path.name for path in (tmp_path / "tables").iterdir())


def test_a_configuration_is_checked_without_any_extra(tmp_path: Path) -> None:
    (tmp_path / "conf" / "base").mkdir(parents=True)
    assert farwatch(tmp_path, "check-config").returncode == 0


def test_the_command_knows_what_the_extra_installs() -> None:
    assert set(OF_SPARK) == declared("spark") - declared()


@pytest.mark.parametrize(
    "arguments",
    [
        ("gate", "--source", "cdn", "--from", "2026-01-01", "--to", "2026-01-02"),
        ("doctor",),
        ("report",),
        ("status",),
        ("query", "--sql", "SELECT 1"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_without_its_extra_says_what_to_install(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "conf" / "base" / "sources").mkdir(parents=True)
    source = "format: csv\npath: x\ncolumns: {time: time, site: site}\nepoch: 1h\norigin: 2026-01-01\n"
    (tmp_path / "conf" / "base" / "sources" / "cdn.yml").write_text(source)
    done = farwatch(tmp_path, *arguments)
    assert done.returncode == 2
    assert re.fullmatch(
        r"farwatch: this command needs \w+; install it with: pip install 'farwatch\[spark\]'\n", done.stderr
    )


def test_the_version_the_short_help_and_the_completion_need_no_extra(tmp_path: Path) -> None:
    assert farwatch(tmp_path, "--version").stdout == f"farwatch {__version__}\n"
    for arguments in (["-h"], ["gate", "-h"], ["simulate", "-h"], ["query", "-h"]):
        done = farwatch(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
        assert "Usage: farwatch" in done.stdout
    assert "--install-completion" in farwatch(tmp_path, "-h").stdout
