"""HLL and CPC sketches by DataSketches: sent whole, for their bits cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask
from monitoring_lib.network import Letter
from monitoring_lib.protocols.distinct_count.options import size_of
from monitoring_lib.protocols.distinct_count.sketched.form import Form
from monitoring_lib.protocols.distinct_count.sketched.letters import Whole
from monitoring_lib.protocols.distinct_count.sketched.state import ImageCoordinatorState, ImageSiteState
from monitoring_lib.synopses.cpc import Cpc
from monitoring_lib.synopses.hll import Hll

_ROUNDING = 1e-12  # of sums that DataSketches adds up in an order of its own


class ImageForm(Form[bytes]):
    """Knowledge is an image in the form of a union: a sketch of one stream is read by another estimator.

    What is new is told by the estimate, which every further entry raises.
    """

    SiteState = ImageSiteState
    CoordinatorState = ImageCoordinatorState
    empty = b""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._kind: type[Hll] | type[Cpc] = Hll if ask.options.sketch == "hll" else Cpc
        self._size_log2 = size_of(ask).bit_length() - 1

    def taken(self, arriving: Any) -> bytes:
        if arriving.is_neutral:
            return b""
        image: bytes = type(arriving).merge_all([arriving, arriving]).image
        return image

    def union(self, parts: Iterable[bytes]) -> bytes:
        sketches = [self._sketch(part) for part in dict.fromkeys(parts) if part]
        image: bytes = self._kind.merge_all(sketches).image if sketches else b""  # type: ignore[arg-type]
        return image

    def lacking(self, known: bytes, other: bytes) -> bytes | None:
        if not other or known == other:
            return None
        grown = self.estimate(self.union([known, other])) > self.estimate(known) * (1 + _ROUNDING)
        return other if grown else None

    def estimate(self, sketch: bytes) -> float:
        return self._sketch(sketch).estimate() if sketch else 0.0

    def bounds(self, sketch: bytes, lag: float) -> tuple[float, float, float]:
        if not sketch:
            return 0.0, 0.0, 0.0
        found = self._sketch(sketch)
        bound = found.bound(self.ask.confidence)
        return found.estimate(), bound.low, bound.high * (1 + lag)

    def report(self, version: int, new: bytes, whole: bytes, state: Any, arriving: Any) -> Letter:
        return self.reply(version, new, whole)

    def reply(self, version: int, new: bytes, whole: bytes) -> Letter:
        return Whole(version, 1 << self._size_log2, whole)

    def opened(self, letter: Letter) -> bytes:
        assert isinstance(letter, Whole)
        try:
            self._sketch(letter.content)
        except ValueError as error:
            raise ProtocolError(f"a sketch came that cannot be read ({error})") from error
        return letter.content

    def no_debt(self) -> Ints:
        return np.zeros(1, np.int64)

    def doubled(self, part: bytes, union: bytes) -> Ints:
        return np.array([0 if self.lacking(union, part) else len(part)], np.int64)

    def covered(self, debts: Ints, lacking: bytes) -> tuple[bytes | None, Ints]:
        return (lacking, self.no_debt()) if debts[0] >= len(lacking) else (None, debts)

    def _sketch(self, image: bytes) -> Hll | Cpc:
        return self._kind(self._size_log2, self.ask.options.seed, image)
