"""Commands as a person types them, in this process, and the remedies that they print: run as they stand."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass

import pytest

from jobs.command import cli
from tests.jobs.pipeline.deployment import Deployment


@dataclass(frozen=True)
class Said:
    """How a command ended, and all that it printed."""

    code: int
    text: str

    @property
    def line(self) -> str:
        return " ".join(self.text.split())

    @property
    def remedies(self) -> list[list[str]]:
        """The arguments of every `farwatch …` in backquotes, in order."""
        return [shlex.split(found)[1:] for found in re.findall(r"`(farwatch [^`]+)`", self.line)]


def typed(home: Deployment, *arguments: str) -> Said:
    """`farwatch` with these arguments, as its entry point runs it."""
    told = io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        patch.setenv("FARWATCH_HOME", str(home.home))
        patch.setenv("FARWATCH_CONF", str(home.home / "conf"))
        patch.setattr("sys.argv", ["farwatch", *arguments])
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Said(code, told.getvalue())


def follow(home: Deployment, said: Said, which: int = 0) -> Said:
    """Runs one of the remedies, which must work."""
    done = typed(home, *said.remedies[which])
    assert done.code == 0, done.text
    return done
