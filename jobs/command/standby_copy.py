"""A copy of the stand-by: does one step after another, each as if it were the caller's own process.

When the caller of a step goes, the copy ends with it. A copy whose code has changed on disk refuses, and the caller
does the step itself. After a step that failed, or took much memory, the copy ends: the next one begins afresh.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from monitoring_lib.standby import REFUSED

_PACKAGES = ("jobs", "monitoring_lib")
_SIZE = struct.Struct("<I")
_MOST_STEPS = 100
_MOST_MEMORY = 1 << 20
"""Kilobytes that a process may have taken and still wait for another step."""


@dataclass(frozen=True)
class StepRequest:
    """What a caller wants; `line` and `streams` are open files: where it waits, and its standard streams."""

    line: int
    streams: Sequence[int]
    arguments: list[str]
    environment: dict[str, str]
    folder: str

    def send(self, copy: socket.socket) -> None:
        wanted = {"arguments": self.arguments, "environment": self.environment, "folder": self.folder}
        text = json.dumps(wanted).encode()
        socket.send_fds(copy, [_SIZE.pack(len(text))], [self.line, *self.streams])
        copy.sendall(text)

    @classmethod
    def receive(cls, copy: socket.socket) -> StepRequest | None:
        """None where no more are to come."""
        head, files, _, _ = socket.recv_fds(copy, _SIZE.size, 4)
        if not head:
            return None
        line, *streams = files
        with copy.makefile("rb") as sent:
            return cls(line, streams, **json.loads(sent.read(_SIZE.unpack(head)[0])))

    def close_streams(self) -> None:
        for one in (self.line, *self.streams):
            os.close(one)


def loaded_code() -> dict[str, int]:
    """When each file of ours that is imported was last changed."""
    files = [
        module.__file__ for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _PACKAGES and getattr(module, "__file__", None)
    ]  # fmt: skip
    return {file: os.stat(file).st_mtime_ns for file in files if file}


def changed_since(code: Mapping[str, int]) -> dict[str, int]:
    return {file: os.stat(file).st_mtime_ns if os.path.exists(file) else 0 for file in code}


def serve_steps(requests: socket.socket, code: Mapping[str, int]) -> NoReturn:
    """Does what comes over the line to the stand-by, and says when it is idle again, until nothing more comes."""
    from jobs.epoch.context import keep_tables

    keep_tables()
    for _ in range(_MOST_STEPS):
        request = StepRequest.receive(requests)
        if request is None or not _do(request, code) or _peak() > _MOST_MEMORY:
            break
        gc.collect()
        requests.sendall(b"\0")
    os._exit(0)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _do(request: StepRequest, code: Mapping[str, int]) -> bool:
    """The command, and its exit code as an answer; whether the copy is good for another one."""
    from jobs.spark.session import leave

    with socket.socket(fileno=request.line) as line:
        if code != changed_since(code):
            line.sendall(REFUSED)
            return False
        _take_over(request.streams)
        os.environ.clear()
        os.environ.update(request.environment)
        os.chdir(request.folder)
        sys.argv[:] = request.arguments
        done = threading.Event()
        watch = threading.Thread(target=_end_with_caller, args=(line, done), daemon=True)
        watch.start()
        result = _run()
        leave()
        _let_go()
        done.set()
        line.sendall(bytes([result]))
        watch.join()
    return result == 0


def _take_over(streams: Sequence[int]) -> None:
    """The caller's standard streams become ours, with objects of their own: the old ones know how to seek in a log."""
    for stream, own in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, own)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding=sys.stdin.encoding, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=sys.stdout.encoding, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding=sys.stderr.encoding, errors="backslashreplace", closefd=False)


def _let_go() -> None:
    """Whoever reads what the caller prints waits until nobody has its streams any more."""
    sys.stdout.flush()
    sys.stderr.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for own in (0, 1, 2):
        os.dup2(nothing, own)
    os.close(nothing)
    os.chdir("/")


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


def _end_with_caller(line: socket.socket, done: threading.Event) -> None:
    if not line.recv(1) and not done.is_set():
        os.kill(os.getpid(), signal.SIGTERM)
