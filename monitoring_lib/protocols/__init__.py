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
def methods(question: str | None = None) -> dict[tuple[str, str], type[Method]]:
    """All methods, or those of one question, by (question, method).

    A family's folder says METHODS; one that says QUESTIONS has them in its module `methods`, which is imported only
    when one of its questions is asked: many load a compiler. An entry point names one class.
    """
    found: dict[tuple[str, str], type[Method]] = {}
    asked: dict[str, type[Method]] = {}
    own = [method for family in _families() for method in _of_family(family, question)]
    offered = [_loaded(point) for point in entry_points(group=ENTRY_POINTS)]
    for method in [*own, *(each for each in offered if question in (None, each.question.name))]:
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


def _families() -> list[Any]:
    return [importlib.import_module(f"{__name__}.{part.name}") for part in pkgutil.iter_modules(__path__)]


def _of_family(family: Any, question: str | None) -> list[type[Method]]:
    if hasattr(family, "QUESTIONS"):
        if question is not None and question not in family.QUESTIONS:
            return []
        family = importlib.import_module(f"{family.__name__}.methods")
    return [method for method in family.METHODS if question in (None, method.question.name)]


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
    for method in methods(name).values():
        return method.question
    raise UsageError(f"unknown question {name!r}{nearest(name, questions())}")


def find_method(question: str, name: str) -> type[Method]:
    known = {method: found for (_, method), found in methods(question).items()}
    if name not in known:
        raise UsageError(f"{name!r} is no method for {question!r}{nearest(name, known)}")
    return known[name]
