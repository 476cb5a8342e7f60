"""Starts a stand-by: the process that has everything imported and does steps for others (`jobs.command.standby`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from jobs.local.servers.process import Server
from monitoring_lib.standby import STANDBY


def begin(folder: Path, environment: Mapping[str, str], *, outlive_us: bool = False) -> tuple[Server, dict[str, str]]:
    """Starts a stand-by below `folder`, and the environment in which steps find it. Nobody needs to wait for it."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    address = folder / "standby.sock"
    address.unlink(missing_ok=True)
    server = Server.start(
        "stand-by",
        [sys.executable, "-m", "jobs.command.standby", address.name],
        log=folder / "standby.log",
        environment=os.environ | dict(environment),
        folder=folder,
        outlive_us=outlive_us,
        restarts=5,
    )
    return server, {STANDBY: str(address)}
