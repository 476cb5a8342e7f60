"""The example of a family in a package of its own: installed as anybody would, found, lawful, run by the DAG."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import monitoring_lib.protocols as protocols
import tests.laws.questions as questions
from jobs.local.servers import airflow_server
from jobs.simulation import command as simulate
from jobs.spark.session import REMOTE
from monitoring_lib.methods import Method
from monitoring_lib.tables import TABLES
from tests.jobs.pipeline.deployment import ONE_PARTITION, Deployment
from tests.laws import test_method_laws as laws
from tests.laws.applying import apply_laws, feed_junk

METHODS = ("told", "every-change")
SOURCE = {
    "name": "plant", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "value": "value"},
}  # fmt: skip
HIGHEST = {
    "name": "highest", "question": "peak", "source": "plant", "measure": "max(value)", "slack": 5, "window": "2h",
    "shadow": ["every-change"],
}  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Path:
    """The folder of an installation, made by pip without a network."""
    work = tmp_path_factory.mktemp("example")
    shutil.copytree(project / "examples" / "peaks", work / "peaks")
    target = work / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    ended = subprocess.run(
        [*command, "--target", str(target), str(work / "peaks")], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return target


@pytest.fixture
def family(installed: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, type[Method]]]:
    """The methods of the package, found through its entry points, with its makers for the laws."""
    monkeypatch.syspath_prepend(installed)
    makers = str(project / "examples" / "peaks" / "laws")
    monkeypatch.setattr(questions, "__path__", [*questions.__path__, makers])
    importlib.invalidate_caches()
    protocols.methods.cache_clear()
    questions.makers.cache_clear()
    yield {name: protocols.find_method("peak", name) for name in METHODS}
    monkeypatch.undo()
    for module in [name for name in sys.modules if name.startswith(("farwatch_peaks", "tests.laws.questions.peak"))]:
        del sys.modules[module]
    protocols.methods.cache_clear()
    questions.makers.cache_clear()
    laws.recorded.cache_clear()


def test_its_methods_are_found_beside_the_others_and_keep_the_laws(family: dict[str, type[Method]]) -> None:
    assert {("peak", name) for name in METHODS} < set(protocols.methods())
    for kind in family.values():
        apply_laws(kind)
        feed_junk(kind)


def test_its_monitor_can_be_simulated(
    family: dict[str, type[Method]], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARWATCH_CONF", str(project / "conf"))
    lines = [f"2026-01-01T{hour:02}:10:00Z,site {hour % 3},object,{100 * hour % 71}" for hour in range(24)]
    Path("trace.csv").write_text("\n".join(["time,site,item,value", *lines, ""]), "utf-8")
    monitor = project / "examples" / "peaks" / "peak.yml"
    result = simulate.run(monitor, trace="trace.csv", epoch="1h", methods="all")
    assert result.promise_kept
    assert [one.method for one in result.outcomes] == ["told", "every-change"]
    assert result.outcomes[0].cost.bytes < result.outcomes[1].cost.bytes


@pytest.mark.spark
@pytest.mark.airflow
@pytest.mark.slow
@pytest.mark.usefixtures("family")
def test_the_dag_runs_it(tmp_path: Path, installed: Path, project: Path, spark_remote: str) -> None:
    home = Deployment(tmp_path / "home", source=SOURCE, monitors=[HIGHEST], settings=ONE_PARTITION)
    values = {0: [3, 90, 20], 1: [50, 10, 30], 2: [8, 7, 60], 3: [1, 2, 3]}
    home.add_file("all.csv", [(3600 * hour, f"s{at}", "", value) for hour, found in values.items()
                              for at, value in enumerate(found)])  # fmt: skip
    given = {
        "FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf"), REMOTE: spark_remote,
        "PYTHONPATH": str(installed),
    }  # fmt: skip
    airflow = airflow_server.prepare(tmp_path / "airflow", project / "dags", given)
    airflow.run("db", "migrate")
    span = json.dumps({"from": "2020-01-01T00:00Z", "to": "2020-01-01T04:00Z"})
    airflow.run("dags", "test", "epochs-plant", "2020-01-01T04:00:00+00:00", "--conf", span, longest=900)
    rows = sorted(home.rows(TABLES["answers"]), key=lambda row: row["epoch_start"])
    exact = [max(max(values[at]) for at in range(max(hour - 1, 0), hour + 1)) for hour in range(4)]
    assert len(rows) == len(exact)
    assert all(row["low"] <= peak <= row["high"] == row["low"] + 10 for row, peak in zip(rows, exact, strict=True))
