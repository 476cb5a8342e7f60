"""The sketches of one node: one of the items as texts, and one a level of blocks of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Image, Words
from monitoring_lib.hashing import SPARK_SEED, hash_items
from monitoring_lib.protocols.recent_counts.merged.log import Log
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch

Sketch = EcmSketch | EcmWaveSketch | RandomisedEcmSketch


@dataclass(slots=True)
class Sketches(Image, tag=10, version=1):
    """Sketches of one kind. If `has_flat`, the first counts items by the hashes of their texts; the others count
    blocks of 1, 2, 4, ... whole numbers."""

    has_flat: bool
    histograms: list[EcmSketch] = field(default_factory=list)
    waves: list[EcmWaveSketch] = field(default_factory=list)
    randomised: list[RandomisedEcmSketch] = field(default_factory=list)

    def kind(self, kind: type[Any]) -> list[Any]:
        lists: dict[type[Any], list[Any]] = {
            EcmSketch: self.histograms, EcmWaveSketch: self.waves, RandomisedEcmSketch: self.randomised,
        }  # fmt: skip
        return lists[kind]

    @property
    def all(self) -> list[Any]:
        return self.histograms or self.waves or self.randomised

    @property
    def flat(self) -> Any:
        return self.all[0] if self.has_flat else None

    @property
    def levels(self) -> list[Any]:
        return self.all[1:] if self.has_flat else self.all

    @property
    def arrived(self) -> int:
        """Events ever taken in; unchanged only if nothing is new."""
        return int(self.all[0].window.arrived)

    def update(self, log: Log) -> None:
        """Counts what a log holds: hashes of texts, or whole numbers where there are levels."""
        ticks, keys, counts = log.columns()
        if self.has_flat:
            hashes = _hashes_of_numbers(log)[log.places] if self.levels else keys
            self.flat.update_hashes(hashes, counts, ticks=ticks)
        blocks = keys.astype(np.int64)
        for level in self.levels:
            level.update(blocks, counts, ticks=ticks)
            blocks = blocks >> 1

    def copy(self) -> Sketches:
        made = Sketches(self.has_flat)
        for one in self.all:
            made.kind(type(one)).append(one.copy())
        return made

    def changed_cells(self, before: Sketches) -> int:
        """How many counters differ from those of an earlier moment."""
        return sum(_changed(now.counters, then.counters) for now, then in zip(self.all, before.all, strict=True))


def _hashes_of_numbers(log: Log) -> Words:
    """The hashes of the texts of a log's keys, which are whole numbers."""
    return hash_items(pa.array(log.keys.astype(np.int64)).cast(pa.string()), SPARK_SEED)


def merged(parts: Sequence[Sketches]) -> Sketches:
    """The sketches of all events of the parts: one level of merges, however many they are."""
    made = Sketches(parts[0].has_flat)
    for some in zip(*(part.all for part in parts), strict=True):
        made.kind(type(some[0])).append(type(some[0]).merge_all(some))
    return made


def _changed(now: Any, then: Any) -> int:
    """Cells whose count moved; of merged counters, which are numbered anew, those that hold anything at all."""
    if now.count.any() and (now.count >= then.count).all():
        return int((now.count != then.count).sum())
    filled = now.pushed.any(axis=0) if hasattr(now, "pushed") else now.count > 0
    return int(filled.sum())
