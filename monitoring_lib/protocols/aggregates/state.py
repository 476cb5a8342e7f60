"""What a site and the coordinator remember, in every method of this family."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Image, Ints


def none() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class Curve(Image, tag=3, version=1):
    """How many bounds an object would have sent in some ticks, at each width around a base."""

    ticks: int
    base: int
    counts: Ints


@dataclass(slots=True)
class SiteState(Image, tag=1, version=2):
    """The site's objects in the order in which it named them, the last value of each, and its filter.

    A filter is a doubled centre and a width; `sent` counts the bounds sent since the period `counted` began.
    Shadow filters stand around the widths `bases`: `shadows` holds the counts of each object's, then their centres;
    they have run for `shadowed` epochs since the last of `reports`. `earlier` are the widths of the epoch before, kept
    where bounds may be late.
    """

    node: str
    names: list[str] = field(default_factory=list)
    values: Ints = field(default_factory=none)
    centres: Ints = field(default_factory=none)
    widths: Ints = field(default_factory=none)
    sent: Ints = field(default_factory=none)
    counted: int = -1
    agreed: dict[str, str] = field(default_factory=dict)
    shadows: Ints = field(default_factory=none)
    bases: Ints = field(default_factory=none)
    shadowed: int = 0
    reports: int = 0
    earlier: Ints = field(default_factory=none)


@dataclass(slots=True)
class Queue(Image, tag=4, version=1):
    """Bounds that may be late: those under way, by tick of the next epoch, and what has been applied so far.

    `applied` are the doubled centres, `there` says which objects take part already, `earlier` are the widths of the
    epoch before.
    """

    ticks: Ints = field(default_factory=none)
    objects: Ints = field(default_factory=none)
    centres: Ints = field(default_factory=none)
    applied: Ints = field(default_factory=none)
    there: Ints = field(default_factory=none)
    earlier: Ints = field(default_factory=none)


@dataclass(slots=True)
class CoordinatorState(Image, tag=2, version=2):
    """Every object with the site where it lives and its place in that site's list, and a copy of its filter.

    `agreed` are the queries as of the last epoch, `absent` the sites that were missing in it. `dial` is the precision
    that the budget buys, in 1/1024 of a step.
    `steps` and `curves` are what sources told of their objects, by name, and `heard` the epoch of the last curve.
    `queue` is used where bounds may be late.
    """

    names: list[str] = field(default_factory=list)
    homes: list[str] = field(default_factory=list)
    places: Ints = field(default_factory=none)
    centres: Ints = field(default_factory=none)
    widths: Ints = field(default_factory=none)
    sent: Ints = field(default_factory=none)
    counted: int = -1
    agreed: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    dial: int = 0
    spent: int = 0
    steps: dict[str, int] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    heard: int = -1
    queue: Queue = field(default_factory=Queue)
