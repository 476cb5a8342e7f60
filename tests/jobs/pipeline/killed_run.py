"""Runs of `farwatch` that kill themselves, with SIGKILL, right after a commit. Not a test: a process that tests start.

Each line of standard input is a run, as JSON: the commits that it survives, whether it dies only of those that make a
table, and its arguments. A commit is named by step, table and the how manieth of the step's to that table it is. The
run dies of the first commit that it does not survive, and is answered by a line: how it ended, and its commits in
order. Runs are forked off, so that what they import is imported once; nothing that must not be forked is opened before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jobs.command.run
from jobs.command import cli
from jobs.command.standby import import_all
from jobs.epoch import context
from jobs.lake.store import Store


class Fate:
    """Watches a run's commits, and ends it after the first that it does not survive."""

    def __init__(self, survived: list[list[Any]], only_made: bool, tell: int) -> None:
        self.survived = survived
        self.only_made = only_made
        self.tell = tell
        self.step = ""
        self.seen: list[list[Any]] = []

    def noting(self, name: str) -> Any:
        """A step that says that it is the one under way."""
        step = jobs.command.run.STEPS[name]

        def noted(*arguments: Any) -> None:
            self.step = name
            step(*arguments)

        return noted

    def committed(self, table: str) -> None:
        before = sum(1 for step, other, _ in self.seen if (step, other) == (self.step, table))
        point = [self.step, table, before + 1]
        self.seen.append(point)
        os.write(self.tell, f"{json.dumps(point)}\n".encode())
        if point not in self.survived and (not self.only_made or is_new(table)):
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


def is_new(table: str) -> bool:
    """Whether a table has no version but its first."""
    logs = Path(os.environ["FARWATCH_HOME"], "var").glob(f"*/{table}/_delta_log/*.json")
    return len(list(logs)) == 1


def main() -> None:
    import_all()
    for line in sys.stdin:
        survived, only_made, arguments = json.loads(line)
        listen, tell = os.pipe()
        child = os.fork()
        if not child:
            run(Fate(survived, only_made, tell), arguments)
        os.close(tell)
        with os.fdopen(listen) as told:
            commits = [json.loads(point) for point in told]
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), commits]), flush=True)


if __name__ == "__main__":
    main()
