"""What a person sees while a command runs: on standard error, so that standard output stays for machines."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@cache
def console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def say(text: str, style: str = "") -> None:
    """One line. Names out of data are shown as they are, never read as markup or names of emoji."""
    console().print(text, style=style, markup=False)
