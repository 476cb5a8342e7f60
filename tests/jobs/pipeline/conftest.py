"""One Spark Connect server for all tests of the pipeline, on loopback, stopped by process id at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.pipeline.deployment import Deployment


@pytest.fixture
def deploy(tmp_path: Path, spark_remote: str) -> Callable[..., Deployment]:
    """Makes deployments, each in a folder of its own."""

    def make(name: str = "home", **parts: Any) -> Deployment:
        return Deployment(tmp_path / name, **parts)

    return make
