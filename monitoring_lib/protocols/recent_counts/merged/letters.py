"""What a node of `merged` tells the one above: what changed in its sketches, and in the names that may be heavy."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from monitoring_lib.codec import LARGEST_IMAGE, Image, decode, encode, encode_changes
from monitoring_lib.errors import CodecError
from monitoring_lib.network import Letter
from monitoring_lib.protocols.recent_counts.merged.log import Log
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketches

_LEAST_OF_A_CELL = 4
"""Bytes that a changed counter takes at least: two changed numbers, each with its place."""


@dataclass(slots=True)
class Sketched(Letter, tag=1, version=1):
    """What changed, in the shorter of two forms, or in neither if nothing did.

    `change` is the compressed difference of the sketches to those told before; `log` holds the counts that changed
    them, from which the receiver makes the same change.
    """

    change: bytes
    log: Log
    cells: int
    """How many counters the difference changes."""
    added: list[str]
    dropped: list[str]

    def __post_init__(self) -> None:
        if self.cells < 0:
            raise ValueError(f"cells: {self.cells} is negative")

    @property
    def entries(self) -> int:
        return self.cells + len(self.log) + len(self.added) + len(self.dropped)


@dataclass(slots=True)
class LogFrame(Image, tag=11, version=1):
    """A log on its own, to be measured."""

    log: Log


@dataclass(slots=True)
class ToldSketches(Image):
    """What a node was told last, or has told last: sketches, and names in order.

    The teller brings its own copy forward by the letter that it sends, as the receiver does: both stay equal.
    """

    sketches: Sketches
    names: list[str] = field(default_factory=list)

    def news(self, sketches: Sketches | None, log: Log | None, names: list[str]) -> Sketched | None:
        """What to tell of sketches (None: unchanged), which `log` leads to if it is given, and of names."""
        before = set(self.names)
        added = [name for name in names if name not in before]
        dropped = sorted(before.difference(names))
        if sketches is None:
            letter = Sketched(b"", Log(), 0, added, dropped)
        else:
            letter = self._shorter(sketches, log, added, dropped)
        if not letter.entries and not letter.change:
            return None
        self.take(letter)
        return letter

    def _shorter(self, sketches: Sketches, log: Log | None, added: list[str], dropped: list[str]) -> Sketched:
        cells = sketches.changed_cells(self.sketches)
        size = len(encode(LogFrame(log))) if log is not None else 0
        if log is not None and size <= _LEAST_OF_A_CELL * cells:
            return Sketched(b"", log, 0, added, dropped)
        change = zlib.compress(encode_changes(sketches, self.sketches))
        if log is not None and size <= len(change):
            return Sketched(b"", log, 0, added, dropped)
        return Sketched(change, Log(), cells, added, dropped)

    def take(self, letter: Sketched) -> None:
        if letter.change:
            self.sketches = decode(_inflated(letter.change), Sketches, since=self.sketches)
        elif len(letter.log):
            self.sketches.update(letter.log)
        self.names = sorted({*self.names, *letter.added}.difference(letter.dropped))


def _inflated(packed: bytes) -> bytes:
    press = zlib.decompressobj()
    try:
        frame = press.decompress(packed, LARGEST_IMAGE)
    except zlib.error as error:
        raise CodecError(f"change: not compressed sketches ({error})") from error
    if not press.eof or press.unused_data:
        raise CodecError("change: compressed sketches that are cut short or too large")
    return frame
