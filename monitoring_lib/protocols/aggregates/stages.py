"""An epoch at the coordinator, cut into stretches of ticks with one set of widths, and bounds that arrive late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints
from monitoring_lib.protocols.aggregates.latency import Latency
from monitoring_lib.protocols.aggregates.state import Queue

TermFlags = NDArray[np.bool_]
Heard = tuple[Ints, Ints, Ints]
"""Ticks, objects and doubled centres of new bounds, those of an object in order of time."""


@dataclass(frozen=True)
class Stage:
    """So many ticks: every object's doubled centre and width in whole steps when they begin, and what is heard then.

    `joined` says which objects take part from the beginning, `lost` whose site did not report.
    """

    ticks: int
    centres: Ints
    steps: Ints
    joined: TermFlags
    lost: TermFlags
    heard: Heard

    def after(self) -> tuple[Ints, TermFlags]:
        """Centres and who takes part at the end."""
        _, objects, sent = self.heard
        centres, joined = self.centres.copy(), self.joined.copy()
        centres[objects], joined[objects] = sent, True  # of several for one object the last is kept
        return centres, joined

    def in_order(self) -> Stage:
        """With what is heard sorted by tick."""
        ticks, objects, sent = self.heard
        order = np.argsort(ticks.astype(np.uint16) if self.ticks <= 1 << 16 else ticks, kind="stable")
        return replace(self, heard=(ticks[order], objects[order], sent[order]))


def late_stages(
    queue: Queue, latency: Latency, whole: Stage, at_once: TermFlags, earlier_steps: Ints, lost_before: TermFlags
) -> tuple[list[Stage], Queue]:
    """The epoch `whole` as it is known `lag` ticks later, and the queue that it leaves.

    The first `lag` ticks go by the widths of the epoch before. `at_once` says which of the new bounds are not late: the
    first of an object where rows are not delayed (the paper's insertions, section 3, come on streams of their own).
    """
    ticks, objects, sent = whole.heard
    arrive = np.where(at_once, ticks, ticks + latency.lag) if latency.padded else ticks + latency.lag
    columns = zip((queue.ticks, queue.objects, queue.centres), (arrive, objects, sent), strict=True)
    arrive, objects, sent = (np.concatenate(pair) for pair in columns)
    new = len(whole.centres) - len(queue.applied)
    start = replace(
        whole,
        ticks=latency.lag,
        centres=np.append(queue.applied, np.zeros(new, np.int64)),
        steps=earlier_steps,
        joined=np.append(queue.there, np.zeros(new, np.int64)) > 0,
        lost=whole.lost if latency.padded else lost_before,
        heard=_between(arrive, objects, sent, 0, latency.lag),
    )
    centres, joined = start.after()
    rest = replace(
        whole,
        ticks=whole.ticks - latency.lag,
        centres=centres,
        joined=joined,
        heard=_between(arrive, objects, sent, latency.lag, whole.ticks),
    )
    centres, joined = rest.after()
    under_way = _between(arrive, objects, sent, whole.ticks, whole.ticks + latency.lag)
    return [start, rest], Queue(*under_way, centres, joined.astype(np.int64), queue.earlier)


def _between(arrive: Ints, objects: Ints, sent: Ints, first: int, end: int) -> Heard:
    """What arrives in these ticks, counted from the first of them."""
    inside = (arrive >= first) & (arrive < end)
    return arrive[inside] - first, objects[inside], sent[inside]


def without(queue: Queue, kept: Sequence[int]) -> Queue:
    """The queue where only these objects are left."""
    number = np.full(len(queue.applied), -1, np.int64)
    number[list(kept)] = np.arange(len(kept))
    stays = number[queue.objects] >= 0
    rows = list(kept)
    return Queue(
        queue.ticks[stays], number[queue.objects[stays]], queue.centres[stays],
        queue.applied[rows], queue.there[rows], queue.earlier[rows],
    )  # fmt: skip
