"""How large the sketches must be for what is asked of them, after all merges."""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitoring_lib.hashing import draw, hash_text
from monitoring_lib.methods import Ask
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketch, Sketches
from monitoring_lib.synopses._counters import leaf_error
from monitoring_lib.synopses._rows import HashRows
from monitoring_lib.synopses._window import EventWindow
from monitoring_lib.synopses.deterministic_wave import Waves
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch, collisions_for, counters_for
from monitoring_lib.synopses.exponential_histogram import Histograms
from monitoring_lib.synopses.randomised_wave import RandomisedWaves, entries_for


@dataclass(frozen=True)
class SketchLevel:
    """One sketch: its rows, the error of its counters after all merges, and the doubt of a randomised one.

    `width` is that of rows that are not hashed, one cell a number; `collisions` and `row_doubt` make hashed ones.
    """

    counters: float
    collisions: float
    row_doubt: float
    wave_doubt: float
    width: int = 0

    def rows(self, seed: int) -> HashRows:
        if self.width:
            return HashRows(1, self.width, 0, hashed=False)
        return HashRows.for_error(self.collisions, 1 - self.row_doubt, seed)


@dataclass(frozen=True)
class Design:
    """All that two nodes must agree on for their sketches to be merged.

    With c the relative error of the counters after all merges, s the share that collisions add, e the `error`:

    - points: ``c = e`` and ``s = e / (1 + e)``, so that ``max(c, (1 + c) s) = e``
    - self-join: ``c = sqrt(1 + e) - 1``, the same s
    - heavy hitters above a share p: the estimate and the total may each be off by c twice, so that
      ``4 c p + s <= 2 e`` is needed: c is at most ``(2 e - s) / (4 p)``. And s is at most ``p / 2``: where the error
      is larger than the share, the list would else name every item
    - between: at most two blocks a level; blocks do not overlap, so that their counters' errors add up to that
      of one counter: ``c = e / 2`` and ``e / 2 / (1 + e / 2)`` shared by the collisions of all hashed blocks
    - quantiles: the rank and the total are off by c each: ``c = e / 3`` and ``e / 3`` for the collisions

    The finest of these is built. Levels with few blocks count each block on its own, without collisions; how many
    are hashed is chosen for the fewest cells. With h levels of merges the counters of all nodes are made with
    ``(1 + c) ** (1 / (h + 1)) - 1``.
    """

    counter: str
    span: int
    merge_levels: int
    seed: int
    flat: SketchLevel | None
    levels: tuple[SketchLevel, ...]
    names: bool
    """Whether sites keep the names of recent items."""

    @classmethod
    def of(cls, ask: Ask) -> Design:
        params, options = ask.params, ask.options
        randomised = options.counter == "rw"
        doubt = 1 - ask.confidence
        flat = None
        if params.of_kind("point", "self_join", "heavy_hitters"):
            flat = _flat(ask, doubt, randomised)
        levels: tuple[SketchLevel, ...] = ()
        if params.of_kind("between", "quantiles"):
            halved = not params.of_kind("quantiles")
            levels = _levels(params.error, doubt, params.bits, halved, randomised)
        names = bool(params.of_kind("heavy_hitters"))
        assert ask.span is not None
        return cls(options.counter, ask.span, options.levels, options.seed, flat, levels, names)

    @property
    def all(self) -> tuple[SketchLevel, ...]:
        return (*((self.flat,) if self.flat is not None else ()), *self.levels)

    @property
    def numbers(self) -> int:
        """64-bit numbers that an empty node keeps."""
        return sum(self._numbers(level) for level in self.all)

    def _numbers(self, level: SketchLevel) -> int:
        cells = level.width or level.rows(0).cells
        if self.counter == "rw":
            return (cells + 1) * entries_for(level.counters, level.wave_doubt)
        return cells * math.ceil(1 / leaf_error(level.counters, self.merge_levels)) * 2

    def empty(self, node: str) -> Sketches:
        """The sketches of a node that has seen nothing; of randomised waves each node has coins of its own."""
        made = Sketches(self.flat is not None)
        for at, (level, seed) in enumerate(zip(self.all, draw(self.seed, len(self.all)).tolist(), strict=True)):
            sketch = self._sketch(level, seed, hash_text(f"{at} {node}", self.seed))
            made.kind(type(sketch)).append(sketch)
        return made

    def _sketch(self, level: SketchLevel, seed: int, coins: int) -> Sketch:
        rows, window = level.rows(seed), EventWindow(self.span)
        if self.counter == "rw":
            waves = RandomisedWaves.for_error(level.counters, level.wave_doubt, coins, rows.cells + 1)
            return RandomisedEcmSketch(rows, window, waves)
        error = leaf_error(level.counters, self.merge_levels)
        if self.counter == "dw":
            return EcmWaveSketch(rows, window, Waves.for_error(error, 1, rows.cells))  # cells add rungs as they fill
        return EcmSketch(rows, window, Histograms.for_error(error, rows.cells))


def _flat(ask: Ask, doubt: float, randomised: bool) -> SketchLevel:
    error = ask.params.error
    shares = [query.heavy_hitters for query in ask.params.of_kind("heavy_hitters")]
    collisions = min([collisions_for(error), *(share / 2 for share in shares)])
    finest = [counters_for(error, "inner-product" if ask.params.of_kind("self_join") else "point")]
    finest += [(2 * error - collisions) / (4 * share) for share in shares]
    row_doubt = doubt / 2 if randomised else doubt
    depth = HashRows.for_error(collisions, 1 - row_doubt, 0).depth
    return SketchLevel(min(finest), collisions, row_doubt, doubt / 2 / (depth + 1))


def _levels(error: float, doubt: float, bits: int, halved: bool, randomised: bool) -> tuple[SketchLevel, ...]:
    """Level l counts the blocks of 2 ** l numbers; the last one has two."""
    counters = error / 2 if halved else error / 3
    shared = error / 2 / (1 + error / 2) if halved else error / 3
    row_doubt = doubt / 2 if randomised else doubt

    def made(hashed: int) -> list[SketchLevel]:
        finest = []
        for level in range(bits):
            blocks = 1 << (bits - level)
            unhashed = SketchLevel(counters, 0.0, 0.0, doubt / 2 / (2 * bits) / 2, blocks)
            if level >= hashed:
                finest.append(unhashed)
                continue
            collisions, own_doubt = shared / (2 * hashed), row_doubt / (2 * hashed)
            depth = HashRows.for_error(collisions, 1 - own_doubt, 0).depth
            finest.append(SketchLevel(counters, collisions, own_doubt, doubt / 2 / (2 * bits) / (depth + 1)))
        return finest

    def cells(hashed: int) -> int:
        if not hashed:
            return 1 << (bits + 1)
        return hashed * made(hashed)[0].rows(0).cells + (1 << (bits - hashed + 1))

    return tuple(made(min(range(bits), key=cells)))
