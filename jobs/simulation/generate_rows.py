"""What happens at a site in an hour of a made-up trace: requests to a content network, or a random walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.epochs import format_time

_HOUR_MS = 3_600_000
_ZIPF = 1.1
_DAILY = 0.6
"""How far the rate swings up and down over a day, as a share of its mean."""
_PEAK = 20
"""Local hour of the largest rate."""


def draws(seed: int, purpose: str, *key: int) -> np.random.Generator:
    """The random numbers of one purpose under one key; no other draw changes them."""
    return np.random.default_rng([seed, int.from_bytes(purpose.encode()), *key])


@dataclass(frozen=True, slots=True)
class FlashCrowd:
    """An item that everybody asks for, at every site, for a while."""

    item: str
    hour: int
    start: str
    end: str
    share: float
    """Requests for it, as a share of the requests of the whole hour without it."""


@dataclass(frozen=True, slots=True)
class GeneratedRows:
    """Rows of one file: times in milliseconds since 1970, values, and items as places in `names`, if any."""

    times: NDArray[np.int64]
    values: NDArray[np.int64]
    items: NDArray[np.int64] | None = None
    names: Sequence[str] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def header(self) -> str:
        return "time,site,value" if self.items is None else "time,site,item,value"

    def where(self, mask: NDArray[np.bool_]) -> GeneratedRows:
        return GeneratedRows(
            self.times[mask], self.values[mask], None if self.items is None else self.items[mask], self.names
        )

    @classmethod
    def joined(cls, parts: Sequence[GeneratedRows]) -> GeneratedRows:
        times = np.concatenate([part.times for part in parts])
        values = np.concatenate([part.values for part in parts])
        items = [part.items for part in parts if part.items is not None]
        return cls(times, values, np.concatenate(items) if items else None, parts[0].names)


@dataclass(frozen=True)
class CdnRows:
    """Zipf-distributed requests with local tastes and hourly drift, a daily shape by time zone, flash crowds.

    Values are the bytes of the item, the same at every request.
    """

    seed: int
    sites: int
    hours: int
    first: int
    events_per_hour: int
    names: Sequence[str] = field(repr=False)
    crowds: int

    def rows(self, site: int, hour: int) -> GeneratedRows:
        rng = draws(self.seed, "requests", site, hour)
        mean = self.rates[site] * self._daily(site, hour)
        start = self.first // 1000 + hour * _HOUR_MS
        items = [self._asked(site, hour, rng.random(rng.poisson(mean)))]
        times = [start + rng.integers(0, _HOUR_MS, len(items[0]))]
        for crowd_hour, item, begin, end, share in self._crowds:
            if crowd_hour == hour:
                asked = rng.poisson(mean * share)
                items.append(np.full(asked, item, np.int64))
                times.append(start + rng.integers(begin, end, asked))
        when, what = np.concatenate(times), np.concatenate(items)
        order = np.argsort(when, kind="stable")
        return GeneratedRows(when[order], self.sizes[what[order]], what[order], self.names)

    @property
    def flash_crowds(self) -> tuple[FlashCrowd, ...]:
        found = []
        for hour, item, begin, end, share in self._crowds:
            start = self.first + hour * _HOUR_MS * 1000
            first, last = format_time(start + begin * 1000), format_time(start + end * 1000)
            found.append(FlashCrowd(self.names[item], hour, first, last, share))
        return tuple(found)

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """Mean requests an hour by site: a few large sites, many small ones."""
        shares = draws(self.seed, "rates").lognormal(0, 1, self.sites)
        rates: NDArray[np.float64] = self.events_per_hour * shares / shares.sum()
        return rates

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return draws(self.seed, "sizes").lognormal(9, 1.5, len(self.names)).astype(np.int64) + 1

    @cached_property
    def _popularity(self) -> NDArray[np.float64]:
        weights = np.arange(1, len(self.names) + 1, dtype=np.float64) ** -_ZIPF
        return draws(self.seed, "popularity").permutation(weights)

    @cached_property
    def _crowds(self) -> list[tuple[int, int, int, int, float]]:
        """Hour, item, first and last millisecond in the hour, share; items come from the long tail."""
        rng = draws(self.seed, "crowds")
        tail = np.argsort(self._popularity)[: max(1, len(self.names) // 2)]
        found = []
        for _ in range(self.crowds):
            begin = 60_000 * int(rng.integers(0, 40))
            end = min(_HOUR_MS, begin + 60_000 * int(rng.integers(10, 30)))
            hour, item = int(rng.integers(0, self.hours)), int(rng.choice(tail))
            found.append((hour, item, begin, end, round(float(rng.uniform(0.1, 0.3)), 3)))
        return sorted(found)

    def _daily(self, site: int, hour: int) -> float:
        zone = int(draws(self.seed, "zone", site).integers(0, 24))
        local = self.first // (_HOUR_MS * 1000) + hour + zone
        return float(1 + _DAILY * np.cos((local - _PEAK) * np.pi / 12))

    def _asked(self, site: int, hour: int, chance: NDArray[np.float64]) -> NDArray[np.int64]:
        """The items at these points of the site's distribution in this hour."""
        local = draws(self.seed, "taste", site).normal(0, 0.6, len(self.names))
        drift = draws(self.seed, "drift", hour).normal(0, 0.3, len(self.names))
        heights = np.cumsum(self._popularity * np.exp(local + drift))
        found: NDArray[np.int64] = np.searchsorted(heights, chance * heights[-1], side="right")
        return np.minimum(found, len(self.names) - 1)


@dataclass
class WalkRows:
    """A random walk by site, in even steps of time; each site strides differently."""

    seed: int
    sites: int
    first: int
    events_per_hour: int
    flash_crowds: tuple[FlashCrowd, ...] = ()
    _heights: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def rows(self, site: int, hour: int) -> GeneratedRows:
        """Walks on also through hours that nobody asks for."""
        ticks = max(1, self.events_per_hour // self.sites)
        start = self.first // 1000 + hour * _HOUR_MS
        times = start + np.arange(ticks, dtype=np.int64) * _HOUR_MS // ticks
        values = self._start(site, hour) + self._steps(site, hour).cumsum()
        self._heights[site, hour + 1] = int(values[-1])
        return GeneratedRows(times, values)

    def _start(self, site: int, hour: int) -> int:
        if (site, hour) not in self._heights:
            before = self._start(site, hour - 1) + int(self._steps(site, hour - 1).sum()) if hour else 1000
            self._heights[site, hour] = before
        return self._heights[site, hour]

    def _steps(self, site: int, hour: int) -> NDArray[np.int64]:
        stride = 1 + int(draws(self.seed, "stride", site).lognormal(1.5, 1))
        ticks = max(1, self.events_per_hour // self.sites)
        return draws(self.seed, "walk", site, hour).integers(-stride, stride + 1, ticks)
