"""The different pairs (item, partner) of a cell: what both questions take in of the events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.codec import Names
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.synopses.base import Synopsis

_WHOLE = r"^0*([0-9]{1,18})(?:\.0*)?$"
"""A whole number of at most 18 digits; zeros before it and behind a point change nothing."""


@dataclass(slots=True)
class Pairs(Synopsis, tag=60, version=1):
    """Pairs of texts, each once, in order of the item, then of the partner. A merge is their union."""

    items: Names = field(default_factory=Names)
    partners: Names = field(default_factory=Names)

    def __post_init__(self) -> None:
        if len(self.items) != len(self.partners):
            raise ValueError(f"partners: {len(self.items)} expected, one an item, found {len(self.partners)}")

    @classmethod
    def of(cls, items: pa.Array, partners: pa.Array) -> Pairs:
        """From pairs in any order, each once or several times."""
        table = pa.table({"item": items, "partner": partners}).group_by(["item", "partner"]).aggregate([])
        table = table.sort_by([("item", "ascending"), ("partner", "ascending")])
        return cls(Names(table["item"]), Names(table["partner"]))

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.items, self.partners, strict=True)

    @classmethod
    def _merged_all(cls, parts: Sequence[Pairs]) -> Pairs:
        return cls.of(
            pa.concat_arrays([part.items.column for part in parts]),
            pa.concat_arrays([part.partners.column for part in parts]),
        )


@dataclass(frozen=True)
class PairsSummary(Summary):
    """Every different pair of texts."""

    synopsis = Pairs

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item", "by")

    def build(self, cell: Cell, rows: Rows) -> Pairs:
        return Pairs(Names(rows.keys["item"]), Names(rows.keys["by"]))


@dataclass(frozen=True)
class NumbersSummary(Summary):
    """Every different number below 2^bits, with its partners if there are any; numbers in their shortest spelling."""

    bits: int
    paired: bool

    synopsis = Pairs

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item", "by") if self.paired else ("item",)

    def refused(self, rows: Rows) -> pa.Array | None:
        return pc.invert(pc.fill_null(pc.less(self._numbers(rows), 1 << self.bits), False))

    def build(self, cell: Cell, rows: Rows) -> Pairs:
        items = self._numbers(rows).cast(pa.string())
        partners = rows.keys["by"] if self.paired else pa.repeat(pa.scalar("", pa.string()), len(rows))
        return Pairs.of(items, partners)

    @staticmethod
    def _numbers(rows: Rows) -> pa.Array:
        texts = pc.utf8_trim(rows.keys["item"].cast(pa.string()), " ")
        digits = pc.replace_substring_regex(texts, pattern=_WHOLE, replacement=r"\1")
        return pc.if_else(pc.match_substring_regex(texts, _WHOLE), digits, None).cast(pa.int64())
