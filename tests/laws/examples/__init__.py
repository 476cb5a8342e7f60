"""What the laws run over: one module a synopsis (or a family of them), each with a list EXAMPLES.

An example says how a synopsis is made, how it is fed, and when two of them count as the same::

    EXAMPLES = [
        Example(
            name="count-min",
            empty=lambda: CountMin.for_error(tolerance=0.01, confidence=0.99),
            feed=lambda synopsis, rng: synopsis.update(rng.integers(0, 1000, 5000)),
        )
    ]

A module added to this folder is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from monitoring_lib.codec import encode
from monitoring_lib.synopses.base import Synopsis


def same_bytes(left: Any, right: Any) -> bool:
    """The strictest sameness: the images are equal, byte for byte."""
    return encode(left) == encode(right)


@dataclass(frozen=True)
class Example:
    """One synopsis as the laws see it.

    `feed(synopsis, rng)` gives it one batch of data drawn from `rng`, and nothing else: equal generators,
    equal batches. `same(a, b)` says whether two synopses of the same data agree as the class promises: equal
    images by default, answers within each other's bounds where a merge costs accuracy. A law runs only where
    it is claimed.
    """

    name: str
    empty: Callable[[], Any]
    """A fresh synopsis without data; each call makes an equal one."""
    feed: Callable[[Any, np.random.Generator], object]
    """Gives the synopsis one batch."""
    feed_singly: Callable[[Any, np.random.Generator], object] | None = None
    """Gives it the same batch as `feed` would, one event a call; None where batches are part of the
    meaning."""
    same: Callable[[Any, Any], bool] = same_bytes
    """Whether two synopses of the same data agree as promised."""
    others: tuple[Callable[[], Any], ...] = ()
    """Makers of the same class with another parameter or seed, each of which merge must refuse."""
    of_site: Callable[[int], Any] | None = None
    """An empty synopsis of the site with this number, where sites must differ; else all are as `empty` makes them."""
    merges: bool = True
    """Whether it can be merged at all; if not, merge raises ValueError or TypeError."""
    merge_equals_whole: bool = True
    """Merging the parts of a stream gives the `same` as one synopsis fed with all of it in turn."""
    largest: int = 1 << 20
    """Bytes which its image never exceeds after three batches."""


@cache
def examples() -> tuple[Example, ...]:
    """Every example of every module in this folder, by name."""
    found: list[Example] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").EXAMPLES
    names = [example.name for example in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"examples named twice: {sorted(twice)}")
    return tuple(sorted(found, key=lambda example: example.name))


def kind_of(example: Example) -> type[Synopsis]:
    return type(example.empty())
