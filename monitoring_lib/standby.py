"""How a command is asked of a process that stands by, with everything imported. Imports nothing that costs time."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress

from monitoring_lib.verbs import VERBS

STANDBY = "FARWATCH_STANDBY"
"""Environment variable with the path of a stand-by's socket."""
SERVED = (*VERBS, "query")
"""The commands that it is asked for: what the scheduler's tasks run over and over."""
REFUSED = b"\xff"


class CopyDiedError(Exception):
    """The process that did the command is gone, and how far it came is not known."""

    def __init__(self) -> None:
        super().__init__("the stand-by's process that ran this step has died; try again")


def hand_over(
    address: str, arguments: Sequence[str], environment: Mapping[str, str], folder: str, streams: Sequence[int]
) -> socket.socket | None:
    """Where the answer will come, or None where nobody stands by. `streams`: the input, output and errors.

    The command ends when this socket is closed.
    """
    request = json.dumps({"arguments": list(arguments), "environment": dict(environment), "folder": folder}).encode()
    line = socket.socket(socket.AF_UNIX)
    try:
        connect(line, address)
    except OSError:
        line.close()
        return None
    with suppress(OSError):  # where it has died before it had read all that we asked, no answer will come
        socket.send_fds(line, [struct.pack("<I", len(request))], list(streams))
        line.sendall(request)
    return line


def answer(line: socket.socket) -> int | None:
    """The exit code of the command, or None where it was refused."""
    try:
        said = line.recv(1)
    except OSError:
        said = b""
    if not said:
        raise CopyDiedError
    return None if said == REFUSED else said[0]


def ask(
    address: str, arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int] = (0, 1, 2)
) -> int | None:
    """Waits for the exit code of a command; None where nobody does it."""
    line = hand_over(address, arguments, environment, os.getcwd(), streams)
    if line is None:
        return None
    with line:
        return answer(line)


def connect(line: socket.socket, address: str) -> None:
    """A socket's path may have a hundred characters at most, so it is named from within its folder."""
    here = os.getcwd()
    os.chdir(os.path.dirname(address))
    try:
        line.connect(os.path.basename(address))
    finally:
        os.chdir(here)
