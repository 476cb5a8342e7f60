"""What the laws ask of each question: one module a question, with a MAKER of random monitors and streams.

A question found without a maker here fails the laws. A module added to this folder is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys


@dataclass(frozen=True)
class Maker:
    """Draws a monitor, then what each site counts in each epoch of it."""

    question: str
    monitor: Callable[[Random], tuple[Keys, Window, int]]
    """The question's parameters, the window and the scale."""
    synopsis: Callable[[Random, Ask, str, int, int], Any]
    """What a site counts between two times; never empty."""


@cache
def makers() -> dict[str, Maker]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {module.MAKER.question: module.MAKER for module in modules}


def growing_or_reset(rng: Random) -> Window:
    return Window(reset=rng.choice([None, None, 5, 9]))


def any_window(rng: Random) -> Window:
    return rng.choice([growing_or_reset(rng), Window(length=rng.choice([1, 2, 3, 7]))])
