"""`farwatch check-config`: all faults of all configuration files at once, each with what to do about it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from monitoring_lib import config
from monitoring_lib.config.faults import MOST_SHOWN
from monitoring_lib.errors import ExitCode


def run(as_json: bool = False) -> ExitCode:
    """Prints what FARWATCH_CONF and FARWATCH_ENV lead to: every fault, or what there is."""
    folder, environment = config.locate()
    faults = config.faults(folder, environment)
    if as_json:
        shown = [asdict(fault) for fault in faults[:MOST_SHOWN]]
        print(json.dumps({"folder": str(folder), "environment": environment, "count": len(faults), "faults": shown}))
    elif faults:
        print("\n".join(config.lines_of(faults)))
        print(f"{_count(len(faults), 'fault')} in {_count(len({fault.file for fault in faults}), 'file')}")
    else:
        print(_summary(config.load(folder, environment), environment))
    return ExitCode.WRONG_USE if faults else ExitCode.DONE


def _summary(found: config.Config, environment: str) -> str:
    monitors = Counter(monitor.source for monitor in found.monitors.values())
    lines = [f"{name}: {_count(monitors[name], 'monitor')}" for name in sorted(found.sources)]
    return "\n".join([*lines, f"no faults; {_count(len(found.sources), 'source')} in environment {environment}"])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
