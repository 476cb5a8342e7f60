"""The window of a synopsis that forgets: its clock, the order of arrivals, and what came early of a late stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Image, Ints, Words
from monitoring_lib.synopses._items import check_total, total_of, whole_numbers

Basis = Literal["time", "count"]

LONGEST = 1 << 56
"""Ticks of the longest window."""
MOST_ARRIVALS = 1 << 60
_FARTHEST_TICK = 1 << 60
"""The largest tick, either side of 0: sums of ticks and windows then stay within 64 bits."""


class WeightedTicks(NamedTuple):
    """Events in the order of their ticks. A weight of c stands for c events, the i-th at ``tick + step * i``."""

    ticks: Ints
    weights: Ints | None
    step: int


def sliced(arrivals: WeightedTicks, part: slice) -> WeightedTicks:
    """Some of the arrivals."""
    return WeightedTicks(
        arrivals.ticks[part], None if arrivals.weights is None else arrivals.weights[part], arrivals.step
    )


def without_zeros(weights: Ints, ticks: Any) -> tuple[NDArray[np.intp] | None, Ints, Any]:
    """Weights and ticks of the events that did occur, and their positions (None if all did)."""
    if weights.all():
        return None, weights, ticks
    if np.ndim(ticks) and np.shape(ticks) != weights.shape:
        raise ValueError(
            f"ticks: {len(weights)} expected, one an event, or a single one; found shape {np.shape(ticks)}"
        )
    present = np.flatnonzero(weights)
    return present, weights[present], whole_numbers(ticks, "ticks")[present] if np.ndim(ticks) else ticks


def kernel_ready(values: NDArray[Any]) -> Ints:
    """Whole numbers in the one layout that kernels are compiled for."""
    return np.require(values, np.int64, ["C", "W"])


def _no_ints() -> Ints:
    return np.empty(0, np.int64)


def _no_words() -> Words:
    return np.empty(0, np.uint64)


@dataclass(slots=True)
class EventWindow(Image):
    """The last `length` ticks (basis ``time``) or the last `length` arrivals (basis ``count``).

    Ticks may come out of order by at most `lateness`: an event whose tick is more than that behind the newest tick
    before it is refused, and its whole batch with it. Events that others may still overtake are held back
    and counted exactly; so a synopsis over a window depends on its events alone and not on their order. With a
    lateness of 0 nothing is held back and ticks must not fall.
    """

    length: int
    basis: str = "time"
    lateness: int = 0
    newest: int = 0
    """The newest tick, or the number of arrivals."""
    arrived: int = 0
    """Events so far."""
    held_ticks: Ints = field(default_factory=_no_ints)
    held_keys: Words = field(default_factory=_no_words)
    held_weights: Ints = field(default_factory=_no_ints)

    def __post_init__(self) -> None:
        if not 0 < self.length <= LONGEST:
            raise ValueError(f"window: {self.length} is not between 1 and {LONGEST}")
        if self.basis not in ("time", "count"):
            raise ValueError(f"basis: {self.basis!r} is neither 'time' nor 'count'")
        if not 0 <= self.lateness <= LONGEST:
            raise ValueError(f"lateness: {self.lateness} is not between 0 and {LONGEST}")
        if self.basis == "count" and self.lateness:
            raise ValueError("lateness: arrivals that are counted cannot be late; leave it at 0")
        if not 0 <= self.arrived <= MOST_ARRIVALS or abs(self.newest) > _FARTHEST_TICK:
            raise ValueError(f"arrived, newest: {self.arrived} and {self.newest} cannot be")
        if not self.held_ticks.shape == self.held_keys.shape == self.held_weights.shape == (len(self.held_ticks),):
            raise ValueError("held_ticks, held_keys, held_weights: of unequal length")
        if len(self.held_ticks) and not (
            self.newest - self.lateness < self.held_ticks.min()
            and self.held_ticks.max() <= self.newest
            and self.held_weights.min() > 0
        ):
            raise ValueError("held_ticks, held_weights: not of the last ticks, or not above 0")
        if total_of(self.held_weights, len(self.held_weights)) > self.arrived:
            raise ValueError(f"held_weights: more than the {self.arrived} events that arrived")
        if self.basis == "count" and self.newest != self.arrived:
            raise ValueError(f"newest: {self.newest}, where {self.arrived} arrivals were counted")

    def admit(self, amount: int, weights: Ints | None, ticks: Any) -> WeightedTicks:
        """Takes `amount` events of positive weight in, or refuses them all; the clock moves on."""
        total = total_of(weights, amount)
        check_total("weights", self.arrived + total, MOST_ARRIVALS)
        weights = None if weights is None else kernel_ready(weights)
        if self.basis == "count":
            if ticks is not None:
                raise ValueError("ticks: a window of basis 'count' numbers its arrivals itself; leave them out")
            places = np.arange(amount) if weights is None else np.cumsum(weights) - weights
            admitted = WeightedTicks(places + (self.newest + 1), weights, 1)
            self.newest += total
        else:
            found, newest = self._in_time(amount, ticks)
            admitted, self.newest = WeightedTicks(found, weights, 0), newest
        self.arrived += total
        return admitted

    def _in_time(self, amount: int, ticks: Any) -> tuple[Ints, int]:
        """Ticks as one array, checked, and the newest tick after them."""
        if ticks is None:
            raise ValueError("ticks: a window of basis 'time' needs the tick of every event")
        given = whole_numbers(ticks, "ticks")
        if given.ndim and given.shape != (amount,):
            raise ValueError(f"ticks: {amount} expected, one an event, or a single one; found shape {given.shape}")
        found = kernel_ready(given) if given.ndim else np.full(amount, given, np.int64)
        if not amount:
            return found, self.newest
        at, lowest, newest = _surveyed(found, self.newest, self.arrived > 0, self.lateness)
        if lowest < -_FARTHEST_TICK or newest > _FARTHEST_TICK:
            raise ValueError(f"ticks: {lowest} to {newest} found; beyond {_FARTHEST_TICK} they cannot be kept")
        if at < amount:
            earlier = found[:at].tolist() + ([self.newest] if self.arrived else [])
            before = max(earlier)
            raise ValueError(
                f"ticks: {found[at]} at position {at} is {before - found[at]} behind the newest tick, {before}; a "
                f"lateness of {self.lateness} is allowed. Sort the batch, or make the synopsis with a larger lateness"
            )
        return found, int(newest)

    def release(self, ticks: Ints, keys: Words, weights: Ints | None) -> tuple[Ints, Words, Ints]:
        """Of what is held and what is given: what no later event can overtake, in the order of ticks."""
        amounts = np.ones(len(ticks), np.int64) if weights is None else weights
        all_ticks = np.concatenate([self.held_ticks, ticks])
        all_keys = np.concatenate([self.held_keys, keys])
        all_weights = np.concatenate([self.held_weights, amounts])
        order = np.lexsort((all_keys, all_ticks))
        all_ticks, all_keys, all_weights = all_ticks[order], all_keys[order], all_weights[order]
        free = int(np.searchsorted(all_ticks, self.newest - self.lateness, side="right"))
        self._hold(all_ticks[free:], all_keys[free:], all_weights[free:])
        return all_ticks[:free], all_keys[:free], all_weights[:free]

    def _hold(self, ticks: Ints, keys: Words, weights: Ints) -> None:
        """Holds sorted events back, equal ones as one."""
        if not len(ticks):
            self.held_ticks, self.held_keys, self.held_weights = _no_ints(), _no_words(), _no_ints()
            return
        starts = np.flatnonzero(np.r_[True, (np.diff(ticks) != 0) | (keys[1:] != keys[:-1])])
        self.held_ticks, self.held_keys = ticks[starts], keys[starts]
        self.held_weights = np.add.reduceat(weights, starts)

    def cutoff(self, span: int | None, now: int | None) -> int:
        """The tick after which the last `span` ticks begin (the whole window if None), seen from `now`."""
        if span is not None and not 0 < span <= self.length:
            raise ValueError(f"span: {span} is not between 1 and the window, {self.length}")
        if now is not None and self.basis == "count":
            raise ValueError("now: a window of basis 'count' ends with its last arrival; leave it out")
        if now is not None and abs(now) > _FARTHEST_TICK:
            raise ValueError(f"now: {now} is beyond {_FARTHEST_TICK}, where no tick can be")
        if now is not None and self.arrived and now < self.newest:
            raise ValueError(f"now: {now} is before the newest tick, {self.newest}; ranges end now")
        return (self.newest if now is None else int(now)) - (self.length if span is None else int(span))

    def held_after(self, cutoff: int) -> tuple[Words, Ints]:
        """Keys and weights of the events held back that lie after a cutoff."""
        inside = self.held_ticks > cutoff
        return self.held_keys[inside], self.held_weights[inside]

    def mismatch(self, other: EventWindow) -> str | None:
        for name in ("length", "basis", "lateness"):
            if getattr(self, name) != getattr(other, name):
                return f"{name.replace('length', 'window')}: {getattr(self, name)} against {getattr(other, name)}"
        return None

    def copy(self) -> EventWindow:
        """A window of its own; the arrays may be shared, they are never written to."""
        return EventWindow(**{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def joined(cls, windows: Sequence[EventWindow]) -> EventWindow:
        """The window over all their events, with nothing held back yet."""
        first = windows[0]
        if first.basis == "count":
            raise ValueError(
                "basis: windows that count arrivals cannot be merged: each knows the order of its own arrivals only, "
                "so which of all arrivals are the last ones is not known. Use basis 'time'"
            )
        begun = [window.newest for window in windows if window.arrived]
        arrived = sum(window.arrived for window in windows)
        check_total("parts", arrived, MOST_ARRIVALS)
        return cls(first.length, "time", first.lateness, max(begun, default=0), arrived)


@numba.njit(cache=True)
def _surveyed(ticks: Any, newest: Any, begun: Any, lateness: Any) -> Any:
    """The position of the first tick that is too late (or the number of ticks), the lowest and the newest tick."""
    running = newest if begun else ticks[0]
    lowest, highest, falls = ticks[0], max(running, ticks[0]), ticks[0] < running
    for i in range(1, len(ticks)):
        falls |= ticks[i] < ticks[i - 1]
        lowest = min(lowest, ticks[i])
        highest = max(highest, ticks[i])
    if falls:
        for i in range(len(ticks)):
            if ticks[i] < running - lateness:
                return i, lowest, highest
            running = max(running, ticks[i])
    return len(ticks), lowest, highest
