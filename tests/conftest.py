"""Fixtures and settings for every test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

PROJECT = Path(__file__).resolve().parents[1]
Install = Callable[[Iterable[Any]], None]

# How fast a machine draws and checks an example says nothing about the code.
settings.register_profile("farwatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("farwatch")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Beside other processes, files that start servers come first: a long one that starts last is waited for."""
    if hasattr(config, "workerinput"):
        marked = {name: {item.path for item in items if item.get_closest_marker(name)} for name in ("airflow", "spark")}
        items.sort(key=lambda item: [item.path not in paths for paths in marked.values()])


@pytest.fixture(scope="session")
def project() -> Path:
    """The folder of the project."""
    return PROJECT


@pytest.fixture(scope="session")
def spark_remote(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[str]:
    """A Spark Connect server on loopback that all tests of one process share, stopped by process id at the end."""
    from jobs.local.servers import spark_server
    from jobs.spark.session import REMOTE

    with pytest.MonkeyPatch.context() as patch:
        for folder in (project, project / "examples" / "peaks"):  # its workers find the tests' own methods there
            patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        server = spark_server.start(tmp_path_factory.mktemp("spark"))
    os.environ[REMOTE] = server.remote
    yield server.remote
    del os.environ[REMOTE]
    server.server.tell_to_stop()
    server.server.wait_stopped()


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes methods findable for the rest of a test, in this process and in those that it starts."""
    from monitoring_lib.methods import Method
    from monitoring_lib.protocols import methods
    from tests.installing import offer_classes

    folder = tmp_path_factory.mktemp("installed")

    def install(kinds: Iterable[type[Method]]) -> None:
        offer_classes(folder, "tested_methods", kinds)
        methods.cache_clear()

    monkeypatch.syspath_prepend(folder)
    path = [str(folder), str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    yield install
    monkeypatch.undo()
    methods.cache_clear()


@pytest.fixture
def toys(install: Install) -> None:
    """The toy families of the laws, installed."""
    from tests.laws.toys import TOYS

    install(TOYS)


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real traces; tests that need them are skipped where it is absent."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real traces: {folder} is not there")
    return folder
