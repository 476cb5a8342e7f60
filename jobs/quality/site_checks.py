"""The checks that a source's configuration asks for, each with its column of numbers and its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jobs.quality.standing import KnownSites, silent_epochs, usual_volume
from jobs.quality.statistics import Grid, GridCells, lacking
from jobs.quality.validation import Check

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SiteCheck:
    """A check of one number a cell; a cell whose number is missing is not judged."""

    check: Check
    cells: GridCells
    numbers: pd.Series
    words: Callable[[int], tuple[str, str]]
    """What was observed in a cell, and what is wrong with it."""


def of_contents(grid: Grid) -> Iterator[SiteCheck]:
    """What a cell's own rows must be like: nulls and ranges."""
    for column, share in sorted(grid.source.quality.nulls.items()):
        yield _filled(grid, column, share)
    for low, high in grid.source.quality.ranges.values():
        if low is not None:
            yield _in_range(grid, "least", low)
        if high is not None:
            yield _in_range(grid, "most", high)


def _filled(grid: Grid, column: str, share: float) -> SiteCheck:
    events, missing = (grid.statistics[name].to_numpy() for name in ("events", lacking(column)))

    def words(at: int) -> tuple[str, str]:
        observed = f"{missing[at] / events[at]:.4g}"
        rows = f"{missing[at]:,} of {events[at]:,} rows ({observed})"
        return observed, f"{rows} have no {column}, where {share:g} is allowed"

    severity = grid.source.quality.severity.nulls
    return between(grid.cells, f"nulls of {column}", missing / events, words, severity, most=share)


def _in_range(grid: Grid, column: Literal["least", "most"], end: Decimal) -> SiteCheck:
    """The distance from the end of the range, worked out in whole numbers so that no rounding decides."""
    scale, values = grid.source.scale, grid.statistics[column].to_pylist()
    exact = Fraction(end) * scale
    bound = math.ceil(exact) if column == "least" else math.floor(exact)
    name, side, sign = ("least value", "below", 1) if column == "least" else ("greatest value", "above", -1)

    def words(at: int) -> tuple[str, str]:
        observed = f"{Decimal(values[at]) / scale:f}"
        return observed, f"the {name} is {observed}, {side} {end:f}"

    inside = [math.nan if value is None else float(sign * (value - bound)) for value in values]
    return between(grid.cells, name, inside, words, grid.source.quality.severity.ranges, least=0)


def of_standing(grid: Grid, standing: KnownSites) -> Iterator[SiteCheck]:
    """What a cell must be like for what is known of its site: known at all, fresh, of the usual volume."""
    quality = grid.source.quality
    if quality.unknown_sites != "allow":
        yield _known(grid, standing)
    if quality.freshness is not None:
        yield _fresh(grid, standing, quality.freshness)
    if quality.volume and (quality.volume.least > 0 or quality.volume.most is not None):
        yield _usual(grid, standing)


def _known(grid: Grid, standing: KnownSites) -> SiteCheck:
    cells = _where(grid.events > 0)
    listed = grid.source.sites
    detail = "never seen before" if listed is None else f"not among the {_count(len(listed), 'listed site')}"
    severity = "critical" if grid.source.quality.unknown_sites == "set_aside" else "warning"
    unknown = standing.unknown[cells].astype(float)
    return between(cells, "known site", unknown, lambda _: ("unknown", detail), severity, most=0)


def _fresh(grid: Grid, standing: KnownSites, allowed: int) -> SiteCheck:
    cells = _where(standing.known)
    epochs = _count(allowed + 1, "epoch")
    words = (
        f"{epochs} or more without events",
        f"no events in the last {epochs}, where {allowed} may be silent",
    )
    severity = grid.source.quality.severity.freshness
    silent = silent_epochs(grid, allowed)[cells].astype(float)
    return between(cells, "freshness", silent, lambda _: words, severity, most=allowed)


def _usual(grid: Grid, standing: KnownSites) -> SiteCheck:
    """Where freshness says how long a site may be silent, an empty epoch is its business alone."""
    quality = grid.source.quality
    volume = quality.volume
    assert volume is not None
    before = usual_volume(grid, volume.history)
    spoken = grid.events > 0 if quality.freshness is not None else np.ones_like(standing.known)
    cells = _where(standing.known & before.judged & spoken)
    events, median, epochs = (of[cells] for of in (grid.events, before.median, before.epochs))

    def words(at: int) -> tuple[str, str]:
        observed = _count(int(events[at]), "event")
        side = f"below {volume.least:g} of" if events[at] < median[at] else f"above {volume.most:g} times"
        usual = f"the median of {_count(int(epochs[at]), 'epoch')} is {median[at]:,.10g}"
        return observed, f"{observed} where {usual}: {side} it"

    return between(
        cells, "volume", events / median, words, quality.severity.volume,
        least=volume.least or None, most=volume.most,
    )  # fmt: skip


def between(
    cells: GridCells, name: str, numbers: Any, words: Callable[[int], tuple[str, str]], severity: Any,
    least: float | None = None, most: float | None = None,
) -> SiteCheck:  # fmt: skip
    import pandas as pd

    ends = {"column": name, "min_value": least, "max_value": most}
    check = Check(name, "ExpectColumnValuesToBeBetween", ends, severity)
    return SiteCheck(check, cells, pd.Series(numbers, dtype=float), words)


def _where(flags: Any) -> GridCells:
    sites, epochs = np.nonzero(flags)
    return sites, epochs


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
