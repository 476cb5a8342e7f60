"""How a step asks a process that stands by, with everything imported, to do it. Imports nothing that costs time."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections.abc import Mapping, Sequence

STANDBY = "FARWATCH_STANDBY"
"""Environment variable with the path of a stand-by's socket."""
REFUSED = b"\xff"
_WORTH_RETRYING = 3


def ask(
    address: str, arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int] = (0, 1, 2)
) -> int | None:
    """The exit code of the command, or None where nobody stands by. `streams`: its input, output and errors."""
    request = json.dumps(
        {"arguments": list(arguments), "environment": dict(environment), "folder": os.getcwd()}
    ).encode()
    with socket.socket(socket.AF_UNIX) as line:
        try:
            connect(line, address)
        except OSError:
            return None
        try:
            socket.send_fds(line, [struct.pack("<I", len(request))], list(streams))
            line.sendall(request)
            answer = line.recv(1)
        except OSError:
            answer = b""  # it died before it had read all that we asked
    if answer == REFUSED:
        return None
    if not answer:
        print("farwatch: the stand-by's process that ran this step has died; try again", file=sys.stderr)
        return _WORTH_RETRYING
    return answer[0]


def connect(line: socket.socket, address: str) -> None:
    """A socket's path may have a hundred characters at most, so it is named from within its folder."""
    here = os.getcwd()
    os.chdir(os.path.dirname(address))
    try:
        line.connect(os.path.basename(address))
    finally:
        os.chdir(here)
