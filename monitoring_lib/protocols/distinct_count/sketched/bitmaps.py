"""FM sketches as rows of words: sent whole, as new bits, or as an item for each new bit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from monitoring_lib.codec import Ints, Names, Words, encode
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask
from monitoring_lib.network import Letter
from monitoring_lib.protocols.distinct_count.bits import (
    LEVELS,
    costs_by_level,
    counts_by_level,
    listed,
    mask_of,
    packed_by_level,
    unpacked_by_level,
    words_of,
)
from monitoring_lib.protocols.distinct_count.named_bits import NamedBits, bits_of_names
from monitoring_lib.protocols.distinct_count.options import encoding_of, size_of
from monitoring_lib.protocols.distinct_count.sketched.form import Form
from monitoring_lib.protocols.distinct_count.sketched.letters import BitItems, Bits, Whole
from monitoring_lib.protocols.distinct_count.sketched.state import BitmapsCoordinatorState, BitmapsSiteState
from monitoring_lib.synopses.fm import FM, likelihood_estimates

_WORD_BYTES = LEVELS // 8


class BitmapForm(Form[Words]):
    """Knowledge is a row of words, or none where nothing is known; a bit that is set stays set."""

    SiteState = BitmapsSiteState
    CoordinatorState = BitmapsCoordinatorState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.size, self.seed = size_of(ask), ask.options.seed
        self.encoding = encoding_of(ask.options)
        self.empty = np.zeros(0, np.uint64)

    def taken(self, arriving: Any) -> Words:
        if isinstance(arriving, NamedBits):
            return words_of(arriving.bits, self.size)
        assert isinstance(arriving, FM)
        return arriving.bitmaps

    def union(self, parts: Iterable[Words]) -> Words:
        filled = [part for part in parts if len(part)]
        return reduce(np.bitwise_or, filled) if filled else self.empty

    def lacking(self, known: Words, other: Words) -> Words | None:
        new: Words = other & ~known if len(known) and len(other) else other
        return new if new.any() else None

    def estimate(self, sketch: Words) -> float:
        return float(likelihood_estimates(sketch[np.newaxis], LEVELS)[0]) if len(sketch) else 0.0

    def bounds(self, sketch: Words, lag: float) -> tuple[float, float, float]:
        if not len(sketch):
            return 0.0, 0.0, 0.0
        fm = FM(sketch, LEVELS, self.seed)
        bound = fm.bound(self.ask.confidence, lag)
        estimate = fm.estimate(self.ask.options.estimator)
        return min(max(estimate, bound.low), bound.high), bound.low, bound.high

    def note(self, state: BitmapsSiteState, arriving: Any) -> None:
        if not isinstance(arriving, NamedBits):
            return
        known = listed(state.sketch) if len(state.sketch) else np.zeros(0, np.int64)
        new = ~np.isin(arriving.bits, known)
        state.pending_bits = np.concatenate([state.pending_bits, arriving.bits[new]])
        state.pending_names = Names([*state.pending_names, *arriving.names.chosen(new)])

    def report(self, version: int, new: Words, whole: Words, state: BitmapsSiteState, arriving: Any) -> Letter:
        if self.encoding == "bits":
            return self._bits(version, new)
        sketch = self._whole(version, whole)
        if self.encoding == "whole":
            return sketch
        if isinstance(arriving, NamedBits):
            items = BitItems(version, arriving.names)
        else:
            asked = np.isin(state.pending_bits, listed(new))
            items = BitItems(version, Names(sorted(state.pending_names.chosen(asked))))
            state.pending_bits, state.pending_names = np.zeros(0, np.int64), Names()
        return items if len(encode(items)) < len(encode(sketch)) else sketch

    def reply(self, version: int, new: Words, whole: Words) -> Letter:
        """Whole means the levels of which anything is new: so the receiver learns the same in every encoding."""
        if self.encoding != "whole":
            return self._bits(version, new)
        return self._whole(version, whole & mask_of(np.flatnonzero(counts_by_level(new))))

    def opened(self, letter: Letter) -> Words:
        if isinstance(letter, BitItems):
            return words_of(bits_of_names(letter.names.column, self.size, self.seed), self.size)
        if isinstance(letter, Whole):
            if len(letter.content) != self.size * _WORD_BYTES:
                raise ProtocolError(
                    f"a sketch of {len(letter.content)} bytes came, where {self.size} bitmaps take"
                    f" {self.size * _WORD_BYTES}; the sender's options differ from the receiver's"
                )
            return np.frombuffer(letter.content, "<u4").astype(np.uint64)
        assert isinstance(letter, Bits)
        return self._opened_bits(letter)

    def _whole(self, version: int, sketch: Words) -> Whole:
        return Whole(version, self.size, sketch.astype("<u4").tobytes())

    def _bits(self, version: int, new: Words) -> Bits:
        counts = counts_by_level(new)
        dense = np.flatnonzero(costs_by_level(counts, self.size) > self.size // 8)
        rows = (new[np.newaxis] >> dense.astype(np.uint64)[:, np.newaxis]) & np.uint64(1)
        packed = np.packbits(rows.astype(np.uint8), axis=1, bitorder="little")
        return Bits(version, bytes(dense.tolist()), packed.tobytes(), packed_by_level(new & ~mask_of(dense)))

    def _opened_bits(self, letter: Bits) -> Words:
        row = (self.size + 7) // 8
        levels = np.frombuffer(letter.levels, np.uint8)
        try:
            bits = unpacked_by_level(letter.listed, self.size)
            if levels.max(initial=0) >= LEVELS or len(letter.rows) != row * len(levels):
                raise ValueError("rows that are no levels")
        except ValueError as error:
            raise ProtocolError(
                f"bits came that {self.size} bitmaps do not have ({error}); the sender's options differ from the"
                " receiver's"
            ) from error
        words = words_of(bits, self.size)
        rows = np.frombuffer(letter.rows, np.uint8).reshape(len(levels), row)
        for level, packed in zip(levels, rows, strict=True):
            whole = np.unpackbits(packed, count=self.size, bitorder="little").astype(np.uint64)
            words |= whole << np.uint64(level)
        return words

    def no_debt(self) -> Ints:
        return np.zeros(LEVELS, np.int64)

    def doubled(self, part: Words, union: Words) -> Ints:
        return costs_by_level(counts_by_level(part & union), self.size) if len(union) else self.no_debt()

    def covered(self, debts: Ints, lacking: Words) -> tuple[Words | None, Ints]:
        counts = counts_by_level(lacking)
        paid = np.flatnonzero((counts > 0) & (debts >= costs_by_level(counts, self.size)))
        if not len(paid):
            return None, debts
        left = debts.copy()
        left[paid] = 0
        return lacking & mask_of(paid), left
