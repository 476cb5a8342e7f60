"""A process that stands by with everything imported and forks off a copy of itself for each step it is asked for.

A step's imports take longer than most steps. The copy takes over the caller's standard streams, environment, folder
and arguments, so that to the caller it is the command itself; when the caller goes, the copy ends with it. Nothing that
must not be forked (a table, a channel to Spark) is opened before the fork. A stand-by whose code has changed on disk
refuses, and the caller does the step itself.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from jobs.terminal.standby import REFUSED

_PACKAGES = ("jobs", "monitoring_lib")
_SIZE = struct.Struct("<I")


def serve(name: str) -> None:
    """Listens at `name` in the current folder, to its owner alone, for as long as the process lives."""
    import_all()
    code = _code()
    gc.collect()
    gc.freeze()  # what is never collected is never copied
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies
    Path(f"{name}.new").unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as door:
        usual = os.umask(0o077)
        door.bind(f"{name}.new")
        os.umask(usual)
        door.listen()
        Path(f"{name}.new").rename(name)  # whoever sees it is answered
        while True:
            line, _ = door.accept()
            if not os.fork():
                door.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _do(line, code)
            line.close()


def import_all() -> None:
    """Everything that a step imports on its way, and what Great Expectations makes once a process."""
    for name in (
        "jobs.command.cli",
        "jobs.command.run",
        "pyarrow.acero",
        "pyspark.sql.connect.session",
        "pyspark.sql.functions",
        "rich.console",
    ):
        import_module(name)
    import pandas as pd

    from jobs.command.cli import command
    from jobs.quality.validation import Check, broken_checks
    from monitoring_lib.protocols import methods

    command()
    methods()
    broken_checks(pd.DataFrame({"a": [0]}), [Check("a", "ExpectColumnToExist", {"column": "a"})])


def _code() -> dict[str, int]:
    """When each file of ours that is imported was last changed."""
    files = [
        module.__file__ for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _PACKAGES and getattr(module, "__file__", None)
    ]  # fmt: skip
    return {file: os.stat(file).st_mtime_ns for file in files if file}


def _do(line: socket.socket, code: Mapping[str, int]) -> None:
    """In the copy: the command, and its exit code as an answer. Does not come back."""
    head, streams, _, _ = socket.recv_fds(line, _SIZE.size, 3)
    with line.makefile("rb") as sent:
        request = json.loads(sent.read(_SIZE.unpack(head)[0]))
    if code != _changed_since(code):
        line.sendall(REFUSED)
        os._exit(0)
    for stream, own in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, own)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv[:] = request["arguments"]
    threading.Thread(target=_end_with_caller, args=(line,), daemon=True).start()
    result = _run()
    sys.stdout.flush()
    sys.stderr.flush()
    line.sendall(bytes([result]))
    os._exit(result)


def _changed_since(code: Mapping[str, int]) -> dict[str, int]:
    return {file: os.stat(file).st_mtime_ns if os.path.exists(file) else 0 for file in code}


def _run() -> int:
    from jobs.command.cli import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end_with_caller(line: socket.socket) -> None:
    if not line.recv(1):
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    serve(sys.argv[1])
