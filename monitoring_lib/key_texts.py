"""Kinds of texts that keys of monitors, common ones and those of questions, are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from monitoring_lib import expressions


def _expression(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is not a column or an expression; write a text")
    expressions.parse(value)
    return value


def _name(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


ExpressionText = Annotated[str, BeforeValidator(_expression)]
"""A text that `expressions.parse` reads."""
NameText = Annotated[str, BeforeValidator(_name)]
"""A name; a whole number may stand as it is, for sites and items are often numbered."""
