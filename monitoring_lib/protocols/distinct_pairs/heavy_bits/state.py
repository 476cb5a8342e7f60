"""What a site and the coordinator remember of the array."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.protocols.distinct_pairs.bit_table import BitTable
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class BitsSiteState(Image, tag=10, version=1):
    """The bits that the site's own pairs have set; it has told of all of them."""

    node: str
    period: int = 0
    bits: BitTable = field(default_factory=BitTable)


@dataclass(slots=True)
class ArrayState(Image, tag=11, version=1):
    """The bits of all sites, and the items that are known by name, with how many bits they were named for."""

    period: int = 0
    bits: BitTable = field(default_factory=BitTable)
    names: Tally = field(default_factory=Tally)
