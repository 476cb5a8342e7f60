"""Shared bits for quantiles.

Cormode, Muthukrishnan and Zhuang, What's Different: Distributed, Continuous Monitoring of Duplicate-Resilient
Aggregates on Data Streams, section 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.distinct_pairs.layout import LEVELS
from monitoring_lib.protocols.distinct_pairs.quantile_bits.letters import NewBits
from monitoring_lib.protocols.distinct_pairs.quantile_bits.nodes import NumbersCoordinator, NumbersSite
from monitoring_lib.protocols.distinct_pairs.quantile_question import DistinctQuantiles

_SPREAD = 0.425 * 0.65
"""The standard error of a share times the root of the bitmaps, at most."""
_LARGEST_CODE = 1 << 62


class DyadicOptions(Keys):
    """The size of a sketch; if it is not said, it is chosen for the promise."""

    seed: int = Field(default=0, description="of the hash")
    bitmaps: int | None = Field(default=None, ge=1, lt=1 << 31, description="bitmaps of the sketch of a range")


def least_bitmaps(ask: Ask) -> int:
    """The fewest with which a share is off by at most half the error, but for a quarter of the failure to each side."""
    z = NormalDist().inv_cdf(1 - (1 - ask.confidence) / 4)
    return math.ceil((z * _SPREAD / (float(ask.params.error) / 2)) ** 2)


def bitmaps_of(ask: Ask) -> int:
    return ask.options.bitmaps or least_bitmaps(ask)


class QuantileBits(Method):
    """A site tells (number, bits) when a pair of the number sets a bit of its sketch."""

    name = "shared-bits"
    question = DistinctQuantiles()
    Options = DyadicOptions
    letters = (NewBits,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.bitmaps = bitmaps_of(ask)
        self.site = NumbersSite(ask, self.bitmaps)
        self.inner = NumbersCoordinator(ask, self.bitmaps)

    def faults(self) -> Iterable[KeyFault]:
        params, least = self.ask.params, least_bitmaps(self.ask)
        if self.bitmaps < least:
            yield KeyFault(
                ("options", self.name, "bitmaps"),
                f"{self.bitmaps} are too few for error {params.error} and confidence {self.ask.confidence}",
                f"write {least} or more, or leave it out",
            )
        if self.bitmaps * LEVELS << params.bits > _LARGEST_CODE:
            yield KeyFault(
                ("error",), f"{params.error} over {params.bits} bits needs more than 2^62 bits of sketches",
                "choose a larger error or fewer bits",
            )  # fmt: skip

    def most_rounds(self, sites: int) -> int:
        return 2

    def continues(self, before: Ask) -> bool:
        same = (before.window, before.options.seed, bitmaps_of(before)) == (
            self.ask.window, self.ask.options.seed, self.bitmaps
        )  # fmt: skip
        return same and self.question.exact(before) == self.summary()
