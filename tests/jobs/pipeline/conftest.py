"""One Spark Connect server for all tests of the pipeline, on loopback, stopped by process id at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.services import spark_server
from jobs.session import REMOTE
from tests.jobs.pipeline.deployment import Deployment


@pytest.fixture(scope="session")
def spark_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = spark_server.start(tmp_path_factory.mktemp("spark"))
    os.environ[REMOTE] = server.remote
    yield server.remote
    del os.environ[REMOTE]
    server.server.tell_to_stop()
    server.server.wait_stopped()


@pytest.fixture
def deploy(tmp_path: Path, spark_remote: str) -> Callable[..., Deployment]:
    """Makes deployments, each in a folder of its own."""

    def make(name: str = "home", **parts: Any) -> Deployment:
        return Deployment(tmp_path / name, **parts)

    return make
