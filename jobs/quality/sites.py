"""Which sites are fit to take part in each epoch, by what the source's configuration asks of their data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from jobs.quality.drift import of_drift
from jobs.quality.findings import Finding
from jobs.quality.site_checks import SiteCheck, of_contents, of_standing
from jobs.quality.standing import history_epochs, standing_of
from jobs.quality.statistics import Grid, grid_of
from jobs.quality.validation import FailedCheck, broken_checks
from monitoring_lib.config import Quality, Source


def check_sites(
    statistics: pa.Table, history: pa.Table, met: Collection[str], source: Source, starts: range
) -> list[Finding]:
    """A finding for each (check, site, epoch) that failed, and one, of site '', for each (check, epoch).

    `statistics` has a row for each (site, epoch) with events in the range, `history` the events in the
    `history_epochs` before it, `met` the sites that had events ever before. A range judged at once gives what
    its epochs give one after the other, each with the ones before as its history.
    """
    if not starts or source.quality == Quality(severity=source.quality.severity):
        return []
    grid = grid_of(statistics, history, [*met, *(source.sites or ())], source, starts, history_epochs(source))
    checks = [*of_contents(grid), *of_drift(grid, history), *of_standing(grid, standing_of(grid, met))]
    return list(_findings(grid, checks, _validate(checks)))


def _validate(checks: Iterable[SiteCheck]) -> dict[str, FailedCheck]:
    """All in one validation, each check with a column of its own; shorter ones are filled up with nulls."""
    import pandas as pd

    judged = [one for one in checks if len(one.numbers)]
    if not judged:
        return {}
    frame = pd.concat({one.check.name: one.numbers for one in judged}, axis=1)
    return broken_checks(frame, [one.check for one in judged])


def _findings(grid: Grid, checks: Iterable[SiteCheck], broken: Mapping[str, FailedCheck]) -> Iterator[Finding]:
    for one in checks:
        check, (sites, epochs) = one.check, one.cells
        failed = broken.get(check.name, FailedCheck(check.severity))
        judged = np.bincount(epochs[one.numbers.notna().to_numpy()], minlength=len(grid.starts))
        failures = np.bincount(epochs[failed.rows], minlength=len(grid.starts))
        for start, among, failing in zip(grid.starts, judged, failures, strict=True):
            observed = f"{failing:,} of {among:,} sites failed" if among else "no site to judge"
            yield Finding(start, check.name, not failing, failed.severity, observed=observed)
        for row in failed.rows:
            observed, detail = one.words(row)
            start, site = grid.starts[int(epochs[row])], grid.sites[int(sites[row])]
            yield Finding(start, check.name, False, failed.severity, site=site, observed=observed, detail=detail)
