"""What every synopsis can do, and how it states its guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, Self

from monitoring_lib.codec import Image, encode

Guarantee = Literal["always", "probable"]


@dataclass(frozen=True, slots=True)
class Bound:
    """``low <= exact <= high``, always or with probability `confidence` over the seeds of the hash.

    `parts` says where the width comes from, in the unit of the estimate (sketch, window, merge).
    """

    low: float
    high: float
    confidence: float = 1.0
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def guarantee(self) -> Guarantee:
        return "always" if self.confidence == 1.0 else "probable"

    def holds(self, exact: float) -> bool:
        return self.low <= exact <= self.high


class Synopsis(Image):
    """A mergeable summary: updated in bulk, merged with its like, stored as an image.

    Subclasses are slotted dataclasses whose fields are their whole state; they add `update`, their queries,
    each with the `Bound` that goes with it, and say by `mismatch` which others they cannot be merged with.
    """

    __slots__ = ()

    def mismatch(self, other: Self) -> str | None:
        """Why `other` cannot be merged into this one (the parameter and both values), or None if it can."""
        return None

    @property
    def is_neutral(self) -> bool:
        """Whether a merge can leave it out, because it holds nothing. Only classes whose merge would change
        something all the same (a clock, a level of merges, an estimator) need to say so."""
        return False

    def merge(self, other: Self) -> Self:
        """The synopsis of both inputs together; neither operand changes."""
        return type(self).merge_all([self, other])

    @classmethod
    def merge_all(cls, parts: Sequence[Self]) -> Self:
        """The synopsis of all inputs together, whatever their order; no part changes, and the result shares
        nothing with them.

        One part comes back as it is, byte for byte. However many there are, it is one merge: where merging
        costs accuracy it costs that of one level, not of one level a part.
        """
        if not parts:
            raise ValueError("parts: at least one synopsis is needed, found none")
        first = parts[0]
        for other in parts:
            if type(other) is not type(first) or not isinstance(other, cls):
                raise ValueError(f"parts: a {type(first).__name__} cannot take in a {type(other).__name__}")
            reason = first.mismatch(other) if other is not first else None
            if reason is not None:
                raise ValueError(f"parts: {type(first).__name__}s of unlike making cannot be merged: {reason}")
        if len(parts) > 1:
            # The smallest image stands for all where all are neutral: the outcome must not depend on the order.
            parts = [part for part in parts if not part.is_neutral] or [min(parts, key=encode)]
        return type(first)._merged_all(parts) if len(parts) > 1 else deepcopy(parts[0])

    @classmethod
    def _merged_all(cls, parts: Sequence[Self]) -> Self:
        """Two parts or more of like making, as one. Where a merge loses nothing they may be taken in one by one."""
        return reduce(lambda merged, part: merged._merged(part), parts)

    def _merged(self, other: Self) -> Self:
        raise TypeError(f"{type(self).__name__} has no merge")

    def to_bytes(self) -> bytes:
        return encode(self)

    @property
    def size(self) -> int:
        """Bytes of the image."""
        return len(self.to_bytes())
