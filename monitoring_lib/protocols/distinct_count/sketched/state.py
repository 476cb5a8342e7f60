"""What sites and the coordinator remember, with FM's words or with images of DataSketches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Image, Ints, Names, Words


def _no_words() -> Words:
    return np.zeros(0, np.uint64)


def _no_numbers() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class BitmapsSiteState(Image, tag=10, version=1):
    """What a site knows (`sketch`), and what of it the coordinator is known to hold (`told`).

    `pending_names` are items for bits that are not told yet, where items are sent. The counts are those of
    `shared-count`: the site's own at its last report, and the coordinator's as last heard.
    """

    period: int = 0
    version: int = 0
    sketch: Words = field(default_factory=_no_words)
    told: Words = field(default_factory=_no_words)
    pending_bits: Ints = field(default_factory=_no_numbers)
    pending_names: Names = field(default_factory=Names)
    reported_count: float = 0.0
    heard_count: float = 0.0


@dataclass(slots=True)
class ImageSiteState(Image, tag=11, version=1):
    """The same with images."""

    period: int = 0
    version: int = 0
    sketch: bytes = b""
    told: bytes = b""
    reported_count: float = 0.0
    heard_count: float = 0.0


@dataclass(slots=True)
class BitmapsCoordinatorState(Image, tag=12, version=1):
    """The union of all that was received; for a sliding window that of each epoch (`epochs`).

    By site: the last version heard, what it is known to know, the debt to it by level in bytes, and of how many
    sites the roster was when it was last present, which says what it may keep back.
    """

    period: int = 0
    union: Words = field(default_factory=_no_words)
    epochs: dict[int, Words] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    known: dict[str, Words] = field(default_factory=dict)
    debts: dict[str, Ints] = field(default_factory=dict)
    rosters: dict[str, int] = field(default_factory=dict)
    announced: float = 0.0


@dataclass(slots=True)
class ImageCoordinatorState(Image, tag=13, version=1):
    """The same with images; a debt is one number."""

    period: int = 0
    union: bytes = b""
    epochs: dict[int, bytes] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    known: dict[str, bytes] = field(default_factory=dict)
    debts: dict[str, Ints] = field(default_factory=dict)
    rosters: dict[str, int] = field(default_factory=dict)
    announced: float = 0.0
