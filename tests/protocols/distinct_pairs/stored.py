"""A state with nothing but a table, and what of it would be stored."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Image, encode_changes
from monitoring_lib.protocols.distinct_pairs.bit_table import BitTable


@dataclass(slots=True)
class Holder(Image, tag=1, version=1):
    bits: BitTable


@dataclass
class Kept:
    """A state as it was stored."""

    state: Holder

    def bytes_of_changes(self, now: Holder) -> int:
        return len(encode_changes(now, self.state))
