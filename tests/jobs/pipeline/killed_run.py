"""Runs of `farwatch` that kill themselves, with SIGKILL, right after a commit. Not a test: a process that tests start.

Each line of standard input is a run, as JSON: after which commit it dies (a number counted from 1; "made": after the
first that makes a table; 0: never), then its arguments. Each is answered by a line: how the run ended, and the tables
that it committed to, in order. Runs are forked off, so that what they import is imported once; nothing that must not
be forked is opened before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

# What a run imports on its way.
import great_expectations  # noqa: F401
import pyspark.sql.connect.session  # noqa: F401

import jobs.run  # noqa: F401
from jobs import cli, context
from jobs.lake.store import Store


def run(last: int | str, arguments: list[str], tell: int) -> None:
    seen = 0

    def committed(table: str) -> None:
        nonlocal seen
        seen += 1
        os.write(tell, f"{table}\n".encode())
        if seen == last or (last == "made" and is_new(table)):
            os.kill(os.getpid(), signal.SIGKILL)

    context.Store = partial(Store, committed=committed)  # type: ignore[assignment,misc]
    sys.argv[1:] = arguments
    try:
        cli.main()
    except SystemExit as end:
        os._exit(int(end.code or 0))


def is_new(table: str) -> bool:
    """Whether a table has no version but its first."""
    logs = Path(os.environ["FARWATCH_HOME"], "var").glob(f"*/{table}/_delta_log/*.json")
    return len(list(logs)) == 1


def main() -> None:
    for line in sys.stdin:
        last, *arguments = json.loads(line)
        listen, tell = os.pipe()
        child = os.fork()
        if not child:
            run(last, arguments, tell)
        os.close(tell)
        with os.fdopen(listen) as told:
            tables = told.read().split()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), tables]), flush=True)


if __name__ == "__main__":
    main()
