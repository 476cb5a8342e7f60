"""What the laws ask of each question: one module a question, with a MAKER of random monitors and streams.

A question found without a maker here fails the laws. A module added to this folder is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.summaries import Cell

EPOCH = 60_000_000
"""Microseconds of an epoch in a scenario."""

Event = dict[str, Any]
"""Texts by key (item, by, …), `tick` as a number counted from the origin, `value` (None: no reading)."""


@dataclass(frozen=True)
class Maker:
    """Draws a monitor, then what happens at each site in each epoch of it."""

    question: str
    ask: Callable[[Random, type[Method]], Ask]
    """A whole ask for a method, with options that the method has."""
    events: Callable[[Random, Ask, Cell], Sequence[Event]]
    """What happens in a cell, in order of time; never nothing."""
    restless: bool = False
    """Whether states change with time alone, or nodes speak when nothing has happened."""
    placement: Callable[[str], tuple[str, ...]] = lambda node: ()
    """Where in a tree a node belongs, for methods that ask for it."""


@cache
def makers() -> dict[str, Maker]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {module.MAKER.question: module.MAKER for module in modules}


def growing_or_reset(rng: Random) -> Window:
    return Window(reset=rng.choice([None, None, 5, 9]))


def sliding(rng: Random) -> Window:
    return Window(length=rng.choice([1, 2, 3, 7]))


def any_window(rng: Random) -> Window:
    return rng.choice([growing_or_reset(rng), sliding(rng)])
