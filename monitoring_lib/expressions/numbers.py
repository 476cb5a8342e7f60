"""Comparisons with a number that is written down, turned into comparisons of whole numbers: exact in any engine."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Literal

from monitoring_lib.expressions.nodes import Comparison

DIGITS = 18
"""Digits that a text may have on either side of its point to be a number."""
SPELT = rf"^[+-]?(?:[0-9]{{1,{DIGITS}}}(?:\.[0-9]{{0,{DIGITS}}})?|\.[0-9]{{1,{DIGITS}}})\z"
"""Texts that are numbers, once blanks around them are gone; RE2 and Java read it alike."""

TURNED: dict[Comparison, Comparison] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The same comparison with its sides exchanged."""


def bound(
    comparison: Comparison, number: Fraction, least: int, most: int
) -> tuple[Literal["=", "!=", "<=", ">="], int] | bool:
    """What `n comparison number` means for a whole n with ``least <= n <= most``.

    A comparison with a whole number between them, or the truth value that it has for every such n.
    """
    if comparison in ("=", "!="):
        if number.denominator != 1 or not least <= number <= most:
            return comparison == "!="
        return comparison, int(number)
    if comparison in ("<", "<="):
        limit = ceil(number) - 1 if comparison == "<" else floor(number)
        if limit >= most or limit < least:
            return limit >= most
        return "<=", limit
    limit = floor(number) + 1 if comparison == ">" else ceil(number)
    if limit <= least or limit > most:
        return limit <= least
    return ">=", limit
