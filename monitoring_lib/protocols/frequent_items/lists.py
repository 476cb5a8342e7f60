"""Lists of items with numbers: merging those of many children at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.names import Names

_EXACT = 2**53
"""Whole numbers up to this are exact as doubles, and so are sums of them."""


@dataclass(frozen=True, slots=True)
class Union:
    """The items that occur in any of several lists, and which of them stands where in the lists."""

    names: pa.StringArray
    places: NDArray[np.intp]
    """For each entry of the lists, one after the other, the place of its item among the names."""

    @classmethod
    def of(cls, lists: Sequence[Names]) -> Union:
        if not lists:
            return cls(pa.array([], pa.string()), np.empty(0, np.intp))
        encoded = pa.concat_arrays([names.column for names in lists]).dictionary_encode()
        return cls(encoded.dictionary, encoded.indices.to_numpy().astype(np.intp))

    @classmethod
    def over(cls, names: Names) -> Union:
        """Of one list."""
        return cls(names.column, np.arange(len(names)))

    def sums(self, values: Sequence[NDArray[Any]], most: int = 0) -> NDArray[Any]:
        """Adds up by item what the lists say. Whole numbers, none of whose sums exceeds `most`, stay whole."""
        joined = np.concatenate(values) if values else np.empty(0, np.int64)
        if joined.dtype.kind == "i" and most > _EXACT:
            exact = np.zeros(len(self.names), np.int64)
            np.add.at(exact, self.places, joined)
            return exact
        return np.bincount(self.places, joined, len(self.names)).astype(joined.dtype, copy=False)

    def chosen(self, kept: NDArray[np.bool_]) -> tuple[Names, NDArray[np.intp]]:
        """The names that are kept, sorted, and the place of each."""
        places = np.flatnonzero(kept)
        names = self.names.take(pa.array(places))
        order = pc.sort_indices(names)
        return Names(names.take(order)), places[order.to_numpy()]
