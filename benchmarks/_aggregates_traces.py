"""The traces that `benchmarks.aggregates` runs over: one value for each object and tick."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitoring_lib.names import Names
from monitoring_lib.protocols.aggregates.readings import Readings

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
Table = pd.DataFrame
"""One row a tick, one column an object; NaN where there is no reading."""


@dataclass(frozen=True)
class Trace:
    """A table of values, how they are scaled, the ticks of an epoch, and the precision of a mean."""

    name: str
    read: Callable[[], Table]
    scale: int
    ticks: int
    precision: float
    judged: int | None = None
    """Epochs of which every tick is judged; None: all of them."""

    @property
    def objects(self) -> list[str]:
        return [str(name) for name in self.read().columns]

    def epochs(self) -> Iterator[Mapping[str, Readings]]:
        """Whole epochs, each object at a site of its own."""
        table = self.read()
        values = np.rint(table.to_numpy(float) * self.scale)
        for epoch in range(len(values) // self.ticks):
            part = values[epoch * self.ticks : (epoch + 1) * self.ticks]
            yield {name: readings(name, part[:, at], epoch * self.ticks) for at, name in enumerate(table.columns)}


def readings(name: str, column: NDArray[np.float64], first: int) -> Readings:
    there = np.flatnonzero(~np.isnan(column))
    if not len(there):
        return Readings()
    return Readings(Names([name]), np.array([len(there)]), there + first, column[there].astype(np.int64))


@cache
def intel() -> Table:
    rows = pd.read_csv(FOLDER / "intel_lab_temperature_days1-4.csv.xz", dtype={"site": str})
    return rows.pivot_table(index="time", columns="site", values="value", aggfunc="last")


@cache
def planetlab() -> Table:
    rows = pd.read_csv(FOLDER / "planetlab_cpu_5days.csv.xz", dtype={"date": str})
    first = rows[rows["date"] == rows["date"].min()].drop(columns="date").set_index("vm")
    return first[~first.index.duplicated()].T.reset_index(drop=True)


@cache
def planetlab_days() -> Table:
    """The machines that are there on all days, the days one after the other."""
    rows = pd.read_csv(FOLDER / "planetlab_cpu_5days.csv.xz", dtype={"date": str})
    days = [part.drop(columns="date").drop_duplicates("vm").set_index("vm") for _, part in rows.groupby("date")]
    always = sorted(set.intersection(*(set(day.index) for day in days)))
    return pd.concat([day.loc[always].T for day in days]).reset_index(drop=True)


@cache
def beijing() -> Table:
    rows = pd.read_csv(FOLDER / "beijing_air_2013-15.csv.xz")
    return rows.pivot_table(index="time", columns="site", values="PM2.5", aggfunc="last", dropna=False)


@cache
def walks() -> Table:
    rng = np.random.default_rng(3)
    sizes = rng.choice([1, 3, 10, 30], 50)
    moves = rng.integers(-sizes, sizes + 1, (5000, 50))
    return pd.DataFrame(moves.cumsum(axis=0).astype(float), columns=[f"w{number:02}" for number in range(50)])


TRACES = (
    Trace("Intel temperatures", intel, 100, 120, 0.5, 24),
    Trace("PlanetLab CPU", planetlab, 1, 72, 10),
    Trace("Beijing PM2.5", beijing, 10, 24, 20, 120),
    Trace("walks", walks, 1, 100, 40, 20),
)
