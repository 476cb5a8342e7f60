"""Where the `farwatch` command begins: a step may be done by a process that stands by, with everything imported.

Only what costs nothing is imported here: a step that finds a stand-by pays for none of the libraries it uses.
"""

from __future__ import annotations

import os
import sys

from jobs.terminal.standby import STANDBY, ask
from monitoring_lib.verbs import VERBS

_INTERRUPTED = 130
_SERVED = (*VERBS, "query")
"""What a stand-by is asked for: what the scheduler's tasks run over and over."""


def main() -> None:
    address = os.environ.get(STANDBY)
    if address and sys.argv[1:2] and sys.argv[1] in _SERVED:
        try:
            code = ask(address, sys.argv, os.environ)
        except KeyboardInterrupt:
            code = _INTERRUPTED
        if code is not None:
            sys.exit(code)
    from jobs.command.cli import main as here

    here()
