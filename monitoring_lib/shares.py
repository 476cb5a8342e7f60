"""Shares of a whole, as a monitor's file says them: 0.5, or 1."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainValidator


def _share(value: Any) -> Any:
    if not _is_number(value) or not 0 < value <= 1:
        raise ValueError("is no share; write a number above 0, 1 at most")
    return value


def _share_or_none(value: Any) -> Any:
    if not _is_number(value) or not 0 <= value <= 1:
        raise ValueError("is no share; write a number from 0 to 1")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Share = Annotated[float, PlainValidator(_share)]
"""A whole 1 stays one: a row's key has the number as Python prints it."""

ShareOrNone = Annotated[float, PlainValidator(_share_or_none)]
"""The same, and 0 is one too."""


def once_each(quantiles: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if quantiles is not None and len(set(quantiles)) < len(quantiles):
        raise ValueError("names a quantile twice; leave one of them out")
    return quantiles
