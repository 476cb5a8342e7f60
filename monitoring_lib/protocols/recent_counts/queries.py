"""What a monitor of recent counts may ask: named queries, each over a range of time that ends with the epoch."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from monitoring_lib.epochs import parse_duration
from monitoring_lib.methods import Ask, Keys
from monitoring_lib.shares import Share, once_each

KINDS = ("point", "heavy_hitters", "between", "quantiles", "self_join")
MOST_BITS = 62
MOST_ANSWERED_BITS = 53
"""An answer row holds doubles: a quantile of longer numbers would be rounded to another number."""


class Query(Keys):
    """One query: a name, a range, and exactly one thing to be asked."""

    name: str = Field(min_length=1, description="the key of its row, or the first part of the keys of its rows")
    range: str = Field(description="how far back it looks from the end of the epoch, such as 1m; at most the window")
    point: str | None = Field(default=None, description="an item: how often did it occur?")
    heavy_hitters: float | None = Field(
        default=None, gt=0, lt=1, description="a share: which items make up more than that of all events?"
    )
    between: tuple[int, int] | None = Field(
        default=None, description="two whole numbers: how many events have an item from the first to the second?"
    )
    quantiles: tuple[Share, ...] | None = Field(
        default=None, min_length=1, description="shares: which item has that share of the events at or below it?"
    )
    self_join: Literal[True] | None = Field(default=None, description="true: the sum of the items' squared counts")

    @field_validator("point", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """A number in YAML means the item that is written like it."""
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    _once_each = field_validator("quantiles")(once_each)

    @field_validator("range")
    @classmethod
    def _is_a_duration(cls, value: str) -> str:
        parse_duration(value)
        return value

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        asked = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(asked) != 1:
            found = " and ".join(asked) or "nothing"
            raise ValueError(f"{self.name!r} asks {found}; give it exactly one of {', '.join(KINDS)}")
        return self

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def is_of_numbers(self) -> bool:
        """Whether it needs items that are whole numbers."""
        return self.kind in ("between", "quantiles")

    def ticks(self, ask: Ask) -> int:
        """The range in ticks."""
        return parse_duration(self.range) // ask.tick


class RecentCountsParams(Keys):
    """What a monitor of this question may say."""

    error: float = Field(gt=0, lt=1, description="of the events in a query's range (of their square for a self-join)")
    queries: tuple[Query, ...] = Field(min_length=1, description="what is asked, each over its own range")
    bits: int | None = Field(
        default=None, ge=1, le=MOST_BITS,
        description="items are whole numbers from 0 below 2^bits; for `between` and `quantiles`",
    )  # fmt: skip

    def of_kind(self, *kinds: str) -> list[Query]:
        return [query for query in self.queries if query.kind in kinds]

    def longest(self, ask: Ask) -> int:
        """Ticks of the longest range."""
        return max(query.ticks(ask) for query in self.queries)
