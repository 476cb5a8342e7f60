"""Families: one folder each. What is found here, or offered under `farwatch.methods`, runs everywhere."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Method, Question
from monitoring_lib.suggest import nearest

ENTRY_POINTS = "farwatch.methods"


@cache
def methods() -> dict[tuple[str, str], type[Method]]:
    """All methods by (question, method): a family's folder says METHODS, an entry point names one class."""
    found: dict[tuple[str, str], type[Method]] = {}
    asked: dict[str, type[Method]] = {}
    families = [importlib.import_module(f"{__name__}.{part.name}") for part in pkgutil.iter_modules(__path__)]
    offered = [_loaded(point) for point in entry_points(group=ENTRY_POINTS)]
    for method in [*(method for family in families for method in family.METHODS), *offered]:
        key = (method.question.name, method.name)
        if found.setdefault(key, method) is not method:
            raise UsageError(
                f"two packages offer the method {key[1]!r} for {key[0]!r}:"
                f" {found[key].__module__} and {method.__module__}; uninstall one of them"
            )
        first = asked.setdefault(key[0], method)
        if type(first.question) is not type(method.question):
            raise UsageError(
                f"{first.__module__} and {method.__module__} mean different questions by {key[0]!r}:"
                f" a further method takes the question of the first, or another name"
            )
    return found


def _loaded(point: EntryPoint) -> type[Method]:
    try:
        offered: Any = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the entry point {point.name} = {point.value} of {ENTRY_POINTS} cannot be loaded ({error});"
            " mend or uninstall its package"
        ) from error
    if not (isinstance(offered, type) and issubclass(offered, Method)):
        raise UsageError(f"the entry point {point.name} = {point.value} of {ENTRY_POINTS} is no Method class")
    return offered


def questions() -> dict[str, Question]:
    return {method.question.name: method.question for method in methods().values()}


def find_question(name: str) -> Question:
    known = questions()
    if name not in known:
        raise UsageError(f"unknown question {name!r}{nearest(name, known)}")
    return known[name]


def find_method(question: str, name: str) -> type[Method]:
    known = {method: found for (asked, method), found in methods().items() if asked == question}
    if name not in known:
        raise UsageError(f"{name!r} is no method for {question!r}{nearest(name, known)}")
    return known[name]
