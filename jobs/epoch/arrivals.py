"""What came at the sites in the epochs of a run, as far as its plans need to know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.epoch.cursor import Owed

Texts = Mapping[tuple[str, ...], tuple[str, ...]]
"""By expressions, the texts by which a site is placed."""


@dataclass(frozen=True)
class Arrivals:
    """What came: a row for each site's epoch with events, with the texts by which methods place sites.

    `rows` has the columns `epoch`, `site`, and for each tuple of `expressions` the smallest texts of the cell.
    `counted` says by monitor how many events of a cell that was set aside count for it: `where` or a null key may
    drop some.
    """

    rows: pa.Table
    expressions: Sequence[tuple[str, ...]] = ()
    counted: Mapping[str, Mapping[tuple[int, str], int]] = field(default_factory=dict)
    digests: Mapping[int, str] = field(default_factory=dict)
    """By epoch, of its rows in the table `arrivals`."""
    decided: Mapping[int, int] = field(default_factory=dict)
    """By epoch, of how many sites somebody has admitted or rejected the rows."""

    def joining(self, first: int, known: Collection[str]) -> Mapping[int, Mapping[str, Texts]]:
        """By epoch, from `first` on, the sites that come for the first time, each with its texts by expressions."""
        new = pc.invert(pc.is_in(self.rows["site"], value_set=pa.array(list(known), pa.string())))
        rows = self.rows.filter(pc.and_(new, pc.greater_equal(self.rows["epoch"], first)))
        rows = rows.sort_by([("site", "ascending"), ("epoch", "ascending")])
        rows = rows.filter(pa.array(_begins(rows["site"].combine_chunks())))
        found: dict[int, dict[str, Texts]] = {}
        for epoch, site, *texts in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            placed = zip(self.expressions, map(tuple, texts), strict=True)
            found.setdefault(epoch, {})[site] = dict(placed)
        return found

    def sites(self, epoch: int) -> set[str]:
        """Those that have events in an epoch."""
        return set(self.rows["site"].filter(pc.equal(self.rows["epoch"], epoch)).to_pylist())

    def came(self, missing: Mapping[int, Collection[str]]) -> set[tuple[int, str]]:
        """Those of these cells, by epoch, that have events."""
        sites = pa.array(sorted({site for found in missing.values() for site in found}), pa.string())
        rows = self.rows.filter(pc.is_in(self.rows["site"], value_set=sites))
        pairs = zip(rows["epoch"].to_pylist(), rows["site"].to_pylist(), strict=True)
        return {(epoch, site) for epoch, site in pairs if site in missing.get(epoch, ())}

    def set_aside(self, monitor: str, epoch: int, sites: Iterable[str], rejected: Collection[str]) -> list[Owed]:
        """The rows of these sites' epoch that count for a monitor."""
        counted = self.counted.get(monitor, {})
        rows = ((site, counted.get((epoch, site), 0)) for site in sites)
        return [Owed(epoch, site, count, site in rejected) for site, count in rows if count]


def _begins(sorted_texts: pa.Array) -> NDArray[np.bool_]:
    """Where a text differs from the one before."""
    changes = pc.not_equal(sorted_texts[1:], sorted_texts[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([np.ones(min(len(sorted_texts), 1), np.bool_), changes.astype(np.bool_)])
