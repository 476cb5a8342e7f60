"""Columns of a file as expressions of a source."""

from __future__ import annotations

import re


def expression_of(name: str) -> str:
    """A column's name as an expression: in backquotes where it could be read as another one."""
    return "`" + name.replace("`", "``") + "`" if re.search(r"[(),'`]|^\s|\s$", name) else name
