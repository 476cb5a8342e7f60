"""Runs of `farwatch` that kill themselves, with SIGKILL, right after a commit. Not a test: a process that tests start.

Each line of standard input is a run, as JSON: its arguments and what it dies of. That is either `dies_of`, a list of
commits, or any commit that is not among those that it `survives`, or, with `only_made`, any of these that makes a
table. A commit is named by step, table and the how manieth of the step's to that table it is. The run is answered by a
line: how it ended, and its commits in order. Runs are forked off, so that what they import is imported once; nothing
that must not be forked is opened before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jobs.command.run
from jobs.command import cli
from jobs.command.standby import import_all
from jobs.epoch import context
from jobs.lake.store import Store

Point = list[Any]


class Fate:
    """Watches a run's commits, and ends it after the first that it does not survive."""

    def __init__(self, fatal: Callable[[Point], bool], tell: int) -> None:
        self.fatal = fatal
        self.tell = tell
        self.step = ""
        self.seen: list[Point] = []

    def noting(self, name: str) -> Any:
        """A step that says that it is the one under way."""
        step = jobs.command.run.STEPS[name]

        def noted(*arguments: Any) -> None:
            self.step = name
            step(*arguments)

        return noted

    def committed(self, table: str) -> None:
        before = sum(1 for step, other, _ in self.seen if (step, other) == (self.step, table))
        point: Point = [self.step, table, before + 1]
        self.seen.append(point)
        os.write(self.tell, f"{json.dumps(point)}\n".encode())
        if self.fatal(point):
            os.kill(os.getpid(), signal.SIGKILL)


def run(fate: Fate, arguments: list[str]) -> None:
    for name in jobs.command.run.STEPS:
        jobs.command.run.STEPS[name] = fate.noting(name)
    setattr(context, "Store", partial(Store, committed=fate.committed))  # noqa: B010  # its own name for the class
    sys.argv[1:] = arguments
    try:
        cli.main()
    except SystemExit as end:
        os._exit(int(end.code or 0))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def kills(
    point: Point, dies_of: list[Point] | None = None, survives: Sequence[Point] = (), only_made: bool = False
) -> bool:
    """Whether a commit is one that a run dies of, as its line says."""
    if dies_of is not None:
        return point in dies_of
    return point not in survives and (not only_made or is_new(point[1]))


def is_new(table: str) -> bool:
    """Whether a table has no version but its first."""
    logs = Path(os.environ["FARWATCH_HOME"], "var").glob(f"*/{table}/_delta_log/*.json")
    return len(list(logs)) == 1


def main() -> None:
    import_all()
    for line in sys.stdin:
        arguments, fatal = json.loads(line)
        listen, tell = os.pipe()
        child = os.fork()
        if not child:
            run(Fate(partial(kills, **fatal), tell), arguments)
        os.close(tell)
        with os.fdopen(listen) as told:
            commits = [json.loads(point) for point in told]
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), commits]), flush=True)


if __name__ == "__main__":
    main()
