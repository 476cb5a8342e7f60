"""What `summarise` makes of one site's one epoch, and what of the events it is made from.

A Summary is a frozen dataclass: its class and its fields are its name, so that equal wishes share one synopsis
and unlike ones never meet. The rows that it is built of are the same wherever they are grouped, in Spark or in
one process: one row for each combination of its keys, sorted by key, with the measure's value.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from monitoring_lib.synopses.base import Synopsis

Reduction = Literal["count", "sum", "last", "mean", "min", "max"]

TICK = "tick"
"""The key whose value is a tick's number, counted from the source's origin; all other keys are texts."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How the events of one key become one whole number: their count, or a reduction of a value column.

    A null value is no reading: it takes part in no reduction but `count` without a column, which counts events.
    `last` goes by time, then by the file's path, then by line. `mean` is rounded to the value's step, halves to even.
    """

    reduction: Reduction = "count"
    column: str = ""

    @classmethod
    def parse(cls, text: str) -> Measure:
        """``count``, or a reduction with its column: ``sum(value)``, ``last(pm25)``, ``count(value)``."""
        if text.strip() == "count":
            return cls()
        found = re.fullmatch(r"\s*([a-z]+)\s*\(\s*(?:`([^`]+)`|([^`()\s](?:[^`()]*[^`()\s])?))\s*\)\s*", text)
        if found is None or found[1] not in get_args(Reduction):
            raise ValueError(
                "is not a measure; write count, sum(value), last(value), mean(value), min(value), max(value)"
                " or count(value)"
            )
        return cls(cast(Reduction, found[1]), found[2] or found[3])

    def __str__(self) -> str:
        """As `parse` reads it, with backquotes around a column that needs them."""
        if not self.column:
            return self.reduction
        plain = self.column == self.column.strip() and not set("()") & set(self.column)
        return f"{self.reduction}({self.column})" if plain else f"{self.reduction}(`{self.column}`)"


@dataclass(frozen=True, slots=True)
class Cell:
    """One site's one epoch: ``[start, end)`` in microseconds, cut into ticks of `tick` microseconds."""

    site: str
    epoch: int
    start: int
    end: int
    tick: int

    @property
    def ticks(self) -> int:
        """How many ticks the epoch has."""
        return (self.end - self.start) // self.tick

    @property
    def first_tick(self) -> int:
        """The number of the epoch's first tick."""
        return self.epoch * self.ticks


@dataclass(frozen=True)
class Rows:
    """The events of a cell, grouped: `keys` by name (texts, or 64-bit hashes of them; ticks as numbers).

    `values` holds the measure of each row and `events` how many events it stands for. Sorted by the keys in
    their order, each combination once: texts by code point, hashes and ticks as numbers. Rows of a summary that
    works on parts may be in any order, and a combination may stand in several of them, and of the parts.
    """

    keys: Mapping[str, pa.Array]
    values: pa.Array
    events: pa.Array

    def __len__(self) -> int:
        return len(self.values)

    def filter(self, kept: pa.Array) -> Rows:
        """The rows for which `kept` is true."""
        keys = {name: column.filter(kept) for name, column in self.keys.items()}
        return Rows(keys, self.values.filter(kept), self.events.filter(kept))

    @classmethod
    def none(cls, summary: Summary) -> Rows:
        numbers = pa.array([], pa.int64())
        text = pa.array([], pa.uint64() if summary.hashed else pa.string())
        return cls({key: numbers if key == TICK else text for key in summary.keys}, numbers, numbers)


@dataclass(frozen=True, slots=True)
class HashBits:
    """Bits that hashes set: the rows of a Flajolet-Martin sketch, which Spark's own aggregates can make.

    A text's XXH64, mixed with the seed as `synopses.hashes.seeded` does, sets one bit of one of the `bitmaps`: its
    upper half chooses the bitmap, the lowest bit of its lower half that is set, or the last of the `levels`, the bit.
    """

    bitmaps: int
    levels: int
    seed: int


def rounded_means(totals: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """``total / count`` in whole steps, halves to even, exact; totals beyond 64 bits come as Python's numbers."""
    steps = totals // counts
    twice = 2 * (totals - steps * counts)
    up = (twice > counts) | ((twice == counts) & (steps % 2 == 1))
    means: NDArray[np.int64] = (steps + up).astype(np.int64)
    return means


class Summary(ABC):
    """Builds a synopsis of one cell. Subclasses are frozen dataclasses.

    Where `in_parts` is true, `build` may be given any part of a cell's events at a time, and `merge` of the parts
    must give the same bytes whatever the parts were. Where `hashed` is true, its texts come as XXH64 of their UTF-8
    bytes with `hashing.SPARK_SEED`, computed where the events are.
    """

    in_parts: ClassVar[bool] = False
    hashed: ClassVar[bool] = False
    synopsis: ClassVar[type[Synopsis]]

    @property
    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """The names of its keys; the monitor maps each to an expression."""

    @property
    def measure(self) -> Measure:
        """What is measured of the events of a key."""
        return Measure()

    @abstractmethod
    def build(self, cell: Cell, rows: Rows) -> Synopsis:
        """The synopsis of a cell's rows; of no rows too: a sketch without data still has its parameters."""

    @property
    def hash_bits(self) -> HashBits | None:
        """Where the synopsis is no more than the bits that its one key sets: which. Then `of_bits` makes it too."""
        return None

    def of_bits(self, bitmaps: NDArray[np.uint64]) -> Synopsis:
        """The synopsis of a cell of which each bitmap is known."""
        raise TypeError(f"{type(self).__name__} does not say how it is made of bits")

    def rows_of(self, synopsis: Any) -> Rows | None:
        """The rows that a synopsis was built of, keys as texts; None where it does not tell them any more."""
        return None

    def refused(self, rows: Rows) -> pa.Array | None:
        """Which rows cannot be taken in (a boolean a row), or None if all can. They are counted and left out."""
        return None

    def merge(self, parts: Sequence[Synopsis]) -> Synopsis:
        """One synopsis of several, of parts of a cell or of several epochs."""
        return parts[0] if len(parts) == 1 else type(parts[0]).merge_all(parts)

    def empty(self, cell: Cell) -> Synopsis:
        return self.build(cell, Rows.none(self))


@dataclass(frozen=True)
class Intake:
    """A summary of a source's events: which events count, what names its keys, how long a tick is.

    `keys` maps each key of the summary but the tick to an expression; `where` drops events before anything else.
    """

    summary: Summary
    keys: Mapping[str, str]
    tick: int
    where: str = ""

    @cached_property
    def name(self) -> str:
        """The same for the same wish, so that later epochs and other monitors find what was made."""
        made: Any = self.summary
        kind = made.synopsis
        wish = [
            type(made).__module__, type(made).__qualname__, asdict(made), kind.__name__, kind.VERSION,
            str(made.measure), sorted(self.keys.items()), self.tick if TICK in made.keys else 0, self.where,
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(wish, default=str).encode()).hexdigest()[:16]
        return f"{kind.__name__.lower()}-{digest}"
