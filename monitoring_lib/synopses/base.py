"""What every synopsis can do, and how it states its guarantee."""

from __future__ import annotations

from dataclasses import dataclass, field
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

    def merge(self, other: Self) -> Self:
        """The synopsis of both inputs together; neither operand changes."""
        if type(other) is not type(self):
            raise ValueError(f"other: a {type(self).__name__} cannot take in a {type(other).__name__}")
        reason = self.mismatch(other)
        if reason is not None:
            raise ValueError(f"other: {type(self).__name__}s of unlike making cannot be merged: {reason}")
        return self._merged(other)

    def _merged(self, other: Self) -> Self:
        raise TypeError(f"{type(self).__name__} has no merge")

    def to_bytes(self) -> bytes:
        return encode(self)

    @property
    def size(self) -> int:
        """Bytes of the image."""
        return len(self.to_bytes())
