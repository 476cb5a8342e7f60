"""Runs of `farwatch` that kill themselves, with SIGKILL, right after a commit. Not a test: a process that tests start.

Each line of standard input is a run, as JSON: when it dies, then its arguments. It dies after the n-th commit to a
table, [table, n], or, "made", after the first commit that makes a table. Each is answered by a line: how the run ended,
and the tables that it committed to, in order. Runs are forked off, so that what they import is imported once; nothing
that must not be forked is opened before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

# What a run imports on its way.
import pyspark.sql.connect.session  # noqa: F401

import jobs.run  # noqa: F401
from jobs import cli, context
from jobs.lake.store import Store
from jobs.quality.validation import Check, validate


def run(dies: Any, arguments: list[str], tell: int) -> None:
    seen: list[str] = []

    def committed(table: str) -> None:
        seen.append(table)
        os.write(tell, f"{table}\n".encode())
        if dies == [table, seen.count(table)] or (dies == "made" and is_new(table)):
            os.kill(os.getpid(), signal.SIGKILL)

    context.Store = partial(Store, committed=committed)  # type: ignore[assignment,misc]
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
    validate(pd.DataFrame({"a": [1]}), [Check("a", "ExpectColumnToExist", {"column": "a"})])  # warm
    for line in sys.stdin:
        dies, *arguments = json.loads(line)
        listen, tell = os.pipe()
        child = os.fork()
        if not child:
            run(dies, arguments, tell)
        os.close(tell)
        with os.fdopen(listen) as told:
            tables = told.read().split()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), tables]), flush=True)


if __name__ == "__main__":
    main()
