"""What a site and the coordinator remember: the bits of each number's sketch.

The sketch of a range is the bitwise or of those of its numbers, so the upper heights need not be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.protocols.distinct_pairs.bit_table import BitTable


@dataclass(slots=True)
class NumbersSiteState(Image, tag=10, version=1):
    """The bits that the site's own pairs have set; it has told of all of them."""

    node: str
    period: int = 0
    bits: BitTable = field(default_factory=BitTable)


@dataclass(slots=True)
class NumbersState(Image, tag=11, version=1):
    """The bits of all sites."""

    period: int = 0
    bits: BitTable = field(default_factory=BitTable)
