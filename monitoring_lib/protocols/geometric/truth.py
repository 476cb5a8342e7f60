"""What the truths of both questions are computed from: exact counts of windows, and the arrays of the sites' events."""

from __future__ import annotations

from collections import deque

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.protocols.geometric.sizes import Sizes
from monitoring_lib.protocols.geometric.window import last_tick
from monitoring_lib.synopses.ecm import EcmSketch
from monitoring_lib.tick_counts import TickCounts

Events = deque[tuple[int, list[str], list[int]]]


class WindowSums:
    """Exact counts by item over the windows of some sites, one dictionary, event by event; F2 is kept in step."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.size = 0
        self.events = 0
        self._windows: dict[str, Events] = {}
        self._counted: frozenset[str] = frozenset()

    def observe(self, node: str, arriving: TickCounts) -> None:
        window = self._windows.setdefault(node, deque())
        names = arriving.names.tolist()
        bounds = np.flatnonzero(np.diff(arriving.ticks)) + 1
        for start, stop in zip([0, *bounds], [*bounds, len(names)], strict=True):
            if stop > start:
                part = int(arriving.ticks[start]), names[start:stop], arriving.counts[start:stop].tolist()
                window.append(part)
                if node in self._counted:
                    self._add(part, 1)

    def move(self, cutoff: int, nodes: frozenset[str]) -> None:
        """Forgets ticks up to the cutoff, and counts the events of these nodes."""
        for node, window in self._windows.items():
            while window and window[0][0] <= cutoff:
                part = window.popleft()
                if node in self._counted:
                    self._add(part, -1)
        for node in sorted(self._counted ^ nodes):
            for part in self._windows.get(node, ()):
                self._add(part, 1 if node in nodes else -1)
        self._counted = nodes

    def _add(self, part: tuple[int, list[str], list[int]], sign: int) -> None:
        for name, count in zip(part[1], part[2], strict=True):
            before = self.sums.get(name, 0)
            now = before + sign * count
            self.size += now * now - before * before
            self.events += sign * count
            if now:
                self.sums[name] = now
            else:
                del self.sums[name]


class SketchedArrays:
    """The arrays of the sites' sketches, made anew from their events.

    How a counter rounds depends on all events that it was ever fed. A site that comes back from having been missing
    was not fed what this truth was shown, unless this is the truth of what the sites took in: `known` says so.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.known = True
        self._sketches: dict[str, EcmSketch] = {}
        self._of_taken = False

    def observe(self, moment: Moment, node: str, arriving: TickCounts) -> None:
        self._of_taken = self._of_taken or bool(moment.missing)
        if node in self._sketches and node in moment.returning and not self._of_taken:
            self.known = False
        if node not in self._sketches:
            made = self.sizes.sketch()
            assert made is not None
            self._sketches[node] = made
        if len(arriving):
            self._sketches[node].update(arriving.names.column, arriving.counts, ticks=arriving.ticks)

    def total(self, now: int, nodes: frozenset[str]) -> Ints:
        """The sum of the arrays of these nodes, row by row; whole numbers."""
        assert self.sizes.rows is not None
        total: Ints = np.zeros((self.sizes.rows.depth, self.sizes.rows.width), np.int64)
        for node in nodes & self._sketches.keys():
            total += self._sketches[node].cells(now=now).estimate.astype(np.int64)
        return total


class WindowTruth(Truth):
    """Exact counts of the windows of the present sites, and with a sketch also their arrays."""

    def __init__(self, ask: Ask, sizes: Sizes, *, has_arrays: bool) -> None:
        self.ask, self.sizes = ask, sizes
        self.sums = WindowSums()
        self.arrays = SketchedArrays(sizes) if has_arrays else None

    def observe(self, moment: Moment, node: str, arriving: TickCounts, expiring: TickCounts) -> None:
        self.sums.observe(node, arriving)
        if self.arrays is not None:
            self.arrays.observe(moment, node, arriving)

    def move(self, moment: Moment) -> tuple[int, frozenset[str]]:
        """Brings the counts to the end of the epoch: its last tick, and the sites that are counted."""
        now, nodes = last_tick(self.ask, moment), frozenset(moment.present)
        self.sums.move(now - self.sizes.span, nodes)
        return now, nodes
