"""`farwatch` as its users call it, for the tests that look at what a command prints and returns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jobs.local.servers import standby
from monitoring_lib.standby import STANDBY, ask

LONGEST_START = 240.0
LONGEST = 300.0
Done = subprocess.CompletedProcess[str]


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


_STARTED_WITH = _of_python(os.environ)


def farwatch(*arguments: str, environment: Mapping[str, str]) -> Done:
    """The command in a process that imports nothing anew: a copy of one that stands by, as tasks of Airflow have it.

    Where the environment changes Python itself (its path, its hash seed), a copy would not do.
    """
    if _of_python(environment) == _STARTED_WITH:
        done = _by_copy(arguments, environment)
        if done is not None:
            return done
    return subprocess.run(
        [sys.executable, "-m", "jobs.command.cli", *arguments], env=dict(environment), capture_output=True,
        text=True, encoding="utf-8", timeout=LONGEST, check=False,
    )  # fmt: skip


def _by_copy(arguments: tuple[str, ...], environment: Mapping[str, str]) -> Done | None:
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told, open(os.devnull, "rb") as nothing:
        streams = [stream.fileno() for stream in (nothing, said, told)]
        code = ask(_standing_by(), ["farwatch", *arguments], environment, streams)
        texts = []
        for stream in (said, told):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8"))
    return None if code is None else subprocess.CompletedProcess(list(arguments), code, *texts)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="farwatch-", ignore_cleanup_errors=True)


@cache
def _standing_by() -> str:
    """The address of the stand-by of this process, started when it is first needed; it ends with this process."""
    server, found_at = standby.begin(Path(_folder().name), _STARTED_WITH)
    server.wait_until(Path(found_at[STANDBY]).exists, LONGEST_START)
    return found_at[STANDBY]
