"""Where the `farwatch` command begins: a step may be done by a process that stands by, with everything imported.

Only what costs nothing is imported here: a step that finds a stand-by pays for none of the libraries it uses.
"""

from __future__ import annotations

import os
import sys

from monitoring_lib.standby import SERVED, STANDBY, CopyDiedError, ask

_INTERRUPTED = 130
_WORTH_RETRYING = 3


def main() -> None:
    address = os.environ.get(STANDBY)
    if address and sys.argv[1:2] and sys.argv[1] in SERVED:
        try:
            code = ask(address, sys.argv, os.environ)
        except KeyboardInterrupt:
            code = _INTERRUPTED
        except CopyDiedError as error:
            print(f"farwatch: {error}", file=sys.stderr)
            code = _WORTH_RETRYING
        if code is not None:
            sys.exit(code)
    from jobs.command.cli import main as here

    here()
