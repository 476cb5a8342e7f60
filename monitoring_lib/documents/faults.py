"""A fault of a configuration file, and how many of them become one message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from monitoring_lib.errors import ConfigError

MOST_SHOWN = 50
LONGEST_VALUE = 80

Path = tuple[str | int, ...]
"""Keys and list positions from the top of a file to a value."""

_SECRET = re.compile(r"secret|password|token|credential|access_?key|account_?key", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, where, and what to do. `line` is None where no line is to blame."""

    file: str
    line: int | None
    field: str
    value: str
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        position = self.file if self.line is None else f"{self.file}:{self.line}"
        subject = ": ".join(part for part in (position, self.field, self.value) if part)
        return f"{subject}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True, slots=True)
class KeyFault:
    """A fault before it is known which file and line said so."""

    path: Path
    problem: str
    remedy: str = ""


def key_fault(path: Path, message: str) -> KeyFault:
    """A sentence of ours: what is wrong; what to do."""
    problem, _, remedy = message.partition("; ")
    return KeyFault(path, problem, remedy)


NOTHING = object()
"""The value of a fault that is about no value, such as a missing key."""


def shown(path: Path, value: Any) -> str:
    """A value as a message shows it: short, and never a secret."""
    if value is NOTHING:
        return ""
    if any(isinstance(part, str) and _SECRET.search(part) for part in path):
        return "(hidden)"
    if value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    else:
        text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def dotted(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part[:LONGEST_VALUE]}"
    return text.lstrip(".")


def fault_lines(faults: Sequence[Fault]) -> list[str]:
    """One line a fault, the first of them only where they are many, and then how many more there are."""
    lines = [str(fault) for fault in faults[:MOST_SHOWN]]
    if len(faults) > MOST_SHOWN:
        lines.append(f"... and {len(faults) - MOST_SHOWN} more")
    return lines


def raise_if_any(faults: Sequence[Fault]) -> None:
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise ConfigError("\n".join([f"the configuration has {count}:", *fault_lines(faults)]))
