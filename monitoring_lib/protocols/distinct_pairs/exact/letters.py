"""What a site tells: the pairs that it had not seen before."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.network import Letter
from monitoring_lib.protocols.distinct_pairs.pairs import Pairs


@dataclass(slots=True)
class NewPairs(Letter, tag=1, version=1):
    """Pairs that are new to the sender."""

    pairs: Pairs

    @property
    def entries(self) -> int:
        return len(self.pairs)
