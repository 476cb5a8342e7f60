"""ECM sketches: what each item did in any range that ends now, over exponential histograms or either kind of wave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from monitoring_lib.synopses._counters import leaf_error
from monitoring_lib.synopses._ecm import Cells, Ecm
from monitoring_lib.synopses._rows import HashRows
from monitoring_lib.synopses._window import Basis, EventWindow
from monitoring_lib.synopses.base import Bound
from monitoring_lib.synopses.deterministic_wave import Waves
from monitoring_lib.synopses.exponential_histogram import Histograms
from monitoring_lib.synopses.randomised_wave import RandomisedWaves

__all__ = ["Cells", "EcmSketch", "EcmWaveSketch", "RandomisedEcmSketch", "Use"]

Use = Literal["point", "inner-product"]


@dataclass(slots=True)
class EcmSketch(Ecm, tag=14, version=1):
    """An ECM sketch over exponential histograms, the kind to take unless there is a reason not to.

    With N all events of a range inside the window, c the `worst_error` of the counters (their error, or after h
    levels of merges ``(1 + error) ** (h + 1) - 1``) and s the error of the rows, for every item::

        estimate >= (1 - c) * exact                                              always (and never below 0)
        estimate <= (1 + c) * (exact + s * (N - exact))                          with probability confidence
        |estimate - exact| <= max(c, (1 + c) * s) * N                            with probability confidence

    and for the inner product with a sketch of M events, or the self-join, with ``C = (1 + c) ** 2 - 1``::

        |estimate - exact| <= max(C, (1 + C) * s) * N * M                        with probability confidence

    over the seeds, for one answer. `bound` is tighter: it uses the buckets that are there, and its upper end
    always holds. Sizes for an error e: ``s = e / (1 + e)``, and ``c = e`` for point queries,
    ``c = sqrt(1 + e) - 1`` for inner products.

    Papapetrou, Garofalakis and Deligiannakis, Sketching Distributed Sliding-Window Data Streams, sections 4 and 5.
    """

    rows: HashRows
    window: EventWindow
    counters: Histograms

    @classmethod
    def for_error(
        cls,
        error: float,
        confidence: float,
        window: int,
        *,
        use: Use = "point",
        basis: Basis = "time",
        lateness: int = 0,
        merge_levels: int = 0,
        seed: int = 0,
    ) -> EcmSketch:
        """The smallest sketch that keeps this error for this use, even after `merge_levels` levels of merges."""
        rows = HashRows.for_error(collisions_for(error), confidence, seed)
        return cls.of_rows(
            rows, EventWindow(window, basis, lateness), leaf_error(counters_for(error, use), merge_levels)
        )

    @classmethod
    def of_rows(cls, rows: HashRows, window: EventWindow, counter_error: float) -> EcmSketch:
        """An empty sketch over given rows, with counters of this error."""
        return cls(rows, window, Histograms.for_error(counter_error, rows.cells))


@dataclass(slots=True)
class EcmWaveSketch(Ecm, tag=15, version=1):
    """An ECM sketch over deterministic waves: the guarantee of `EcmSketch`, with rungs laid out beforehand.

    It is made for an upper bound of the arrivals in a window; a cell that gets more adds rungs.
    """

    rows: HashRows
    window: EventWindow
    counters: Waves

    @classmethod
    def for_error(
        cls,
        error: float,
        confidence: float,
        window: int,
        arrivals: int,
        *,
        use: Use = "point",
        basis: Basis = "time",
        lateness: int = 0,
        merge_levels: int = 0,
        seed: int = 0,
    ) -> EcmWaveSketch:
        """As `EcmSketch.for_error`, for at most `arrivals` events of one cell in a window."""
        rows = HashRows.for_error(collisions_for(error), confidence, seed)
        counter_error = leaf_error(counters_for(error, use), merge_levels)
        waves = Waves.for_error(counter_error, arrivals, rows.cells)
        return cls(rows, EventWindow(window, basis, lateness), waves)


@dataclass(slots=True)
class RandomisedEcmSketch(Ecm, tag=16, version=1):
    """An ECM sketch over randomised waves: larger by 1 / error and more, but its merges lose nothing.

    With N all events of a range inside the window, for every item, after any number of merges::

        |estimate - exact| <= error * N                                          with probability confidence

    over the seeds and the coins, for one answer. Half of the doubt goes to the rows, half is shared by the waves
    that an answer reads: one a row, and one that counts all events. There are no inner products: they would
    read every cell, and of many cells some miss their error. `coins` is the site's own seed and must not
    be another site's; `seed` must be the same everywhere.
    """

    rows: HashRows
    window: EventWindow
    counters: RandomisedWaves

    @property
    def extra_cells(self) -> int:
        return 1

    @classmethod
    def for_error(
        cls,
        error: float,
        confidence: float,
        window: int,
        coins: int,
        *,
        basis: Basis = "time",
        lateness: int = 0,
        seed: int = 0,
    ) -> RandomisedEcmSketch:
        """The smallest sketch that keeps this error for point queries."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence: {confidence} is not between 0 and 1")
        doubt = (1 - confidence) / 2
        rows = HashRows.for_error(collisions_for(error), 1 - doubt, seed)
        waves = RandomisedWaves.for_error(error, doubt / (rows.depth + 1), coins, rows.cells + 1)
        return cls(rows, EventWindow(window, basis, lateness), waves)

    @property
    def confidence(self) -> float:
        return self.rows.confidence - (self.rows.depth + 1) * self.counters.doubt

    def arrivals(self, span: int | None = None, now: int | None = None) -> Bound:
        most = self.cells(span, now).most_events
        error = self.counters.error
        return Bound(most * (1 - error) / (1 + error), most, 1 - self.counters.doubt)

    def _both(self, other: RandomisedEcmSketch, span: int | None, now: int | None) -> tuple[Cells, Cells]:
        raise ValueError(
            "other: randomised waves promise nothing for inner products, which read every cell; use an EcmSketch"
        )


def collisions_for(error: float) -> float:
    """The error of the rows in a sketch of this error, for either use."""
    if not 0 < error < 1:
        raise ValueError(f"error: {error} is not between 0 and 1")
    return error / (1 + error)


def counters_for(error: float, use: Use) -> float:
    """The error of the counters in a sketch of this error."""
    if use == "point":
        return error
    if use == "inner-product":
        return math.sqrt(1 + error) - 1
    raise ValueError(f"use: {use!r} is neither 'point' nor 'inner-product'")
