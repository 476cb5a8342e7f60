"""`farwatch run` that kills itself, with SIGKILL, right after a commit. Not a test: a process that tests start.

    python killed_run.py COMMIT run --source ...

COMMIT is the number of the commit to die after, counted from 1; 0: live, and tell the tables of all commits, one
a line. It begins when a line comes in, so that a test can start the next one while it waits for the last.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial

# What a run imports on its way, so that a process that waits is ready.
import great_expectations  # noqa: F401
import pyspark.sql.connect.session  # noqa: F401

import jobs.run  # noqa: F401
from jobs import cli, context
from jobs.lake.store import Store


def main() -> None:
    last, seen = int(sys.argv[1]), 0

    def committed(table: str) -> None:
        nonlocal seen
        seen += 1
        if not last:
            print(table)
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

    context.Store = partial(Store, committed=committed)  # type: ignore[assignment,misc]
    sys.stdin.readline()
    sys.argv[1:] = sys.argv[2:]
    cli.main()


if __name__ == "__main__":
    main()
