"""Numbers, sizes and names out of data as people read them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence

LONGEST_NAME = 40
MOST_NAMES = 5


def printable(text: str, longest: int = LONGEST_NAME) -> str:
    """A name out of data on one line: control characters escaped, cut where it is long."""
    shown = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def as_argument(name: str) -> str:
    """A name out of data in a printed command: on one line, without backquotes, whole. `named` takes it back."""
    return shlex.quote(_escaped(name))


def named(given: str, names: Iterable[str]) -> str:
    """The one of these names that commands print as `given`, else what is given as it stands."""
    return next((name for name in names if _escaped(name) == given), given)


def _escaped(name: str) -> str:
    """With backslashes doubled, so that no two names look alike."""
    plain = "".join(one if one.isprintable() and one != "\\" else repr(one)[1:-1] for one in name)
    return plain.replace("`", r"\x60")


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first few names in quotes, then how many more there are."""
    shown = ", ".join(f"'{printable(name)}'" for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def number(value: float) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "?"
    return f"{int(value):,}" if value == int(value) else f"{value:,.3f}".rstrip("0").rstrip(".")


def bounds(low: float, high: float) -> str:
    """``low..high``, or the number itself where the two are one."""
    return number(low) if low == high else f"{number(low)}..{number(high)}"


def size(count: int) -> str:
    """A number of bytes in the unit that keeps it short."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.95 else f"{amount:.1f} {unit}"


def counted(count: int, what: str) -> str:
    """``1 epoch``, ``3 epochs``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
