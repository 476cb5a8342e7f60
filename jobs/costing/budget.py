"""A budget of traffic, and the tightest promise of each method that fits into it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from jobs.costing.replaying import Outcome, Span, replayed
from jobs.costing.stored import Stored
from jobs.costing.variants import Chosen, LeftOut, Variant, VariantKeys, precision_of, tidy, variant_of
from jobs.terminal.wording import number, size
from monitoring_lib.epochs import parse_duration
from monitoring_lib.errors import UsageError
from monitoring_lib.protocols import find_question

_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_PER = {"minute": "1m", "hour": "1h", "day": "1d", "week": "1w"}
_SHAPE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*/\s*(\w+)\s*")
_STEPS = (1, 2, 5)
_DECADES = range(-3, 4)
"""How far from the configured precision is looked, in powers of ten."""


@dataclass(frozen=True)
class Budget:
    """So many bytes, entries or messages in a time."""

    text: str
    unit: str
    a_day: float

    @classmethod
    def parse(cls, text: str) -> Budget:
        """`1MB/day`, `20kB/1h`, `500 entries/day`."""
        found = _SHAPE.fullmatch(text)
        try:
            if found is None or found[2] not in (*_UNITS, "entries", "messages"):
                raise ValueError
            per = parse_duration(_PER.get(found[3], found[3]))
        except ValueError:
            raise UsageError(
                f"--budget {text!r}: write an amount and a time, such as 1MB/day, 20kB/hour or 500 entries/day"
            ) from None
        amount = float(found[1]) * _UNITS.get(found[2], 1)
        unit = "bytes" if found[2] in _UNITS else found[2]
        return cls(text.strip(), unit, amount * parse_duration("1d") / per)

    def sent(self, outcome: Outcome) -> float:
        """What an outcome sends a day, in the budget's unit."""
        return outcome.span.a_day(float(getattr(outcome.cost, self.unit)))

    def fits(self, outcome: Outcome) -> bool:
        return self.sent(outcome) <= self.a_day

    def shown(self, outcome: Outcome) -> str:
        """That in words."""
        sent = self.sent(outcome)
        return f"{size(round(sent)) if self.unit == 'bytes' else f'{number(round(sent, 1))} {self.unit}'} a day"


@dataclass
class _Search:
    """One method: its precisions from the tightest to the loosest, of which a fitting one is sought by halves."""

    variants: list[Variant]
    low: int = 0
    high: int = field(init=False)
    tried: dict[int, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.high = len(self.variants) - 1

    @property
    def next(self) -> int | None:
        """The one to replay now; None once the tightest that fits, or that none does, is known."""
        middle = (self.low + self.high) // 2
        return None if middle in self.tried else middle

    def take(self, at: int, outcome: Outcome, budget: Budget) -> None:
        """A looser promise is taken to need no more traffic: so it is, up to the chance of single epochs."""
        self.tried[at] = outcome
        if budget.fits(outcome):
            self.high = at
        else:
            self.low = min(at + 1, self.high)

    @property
    def found(self) -> Outcome:
        return self.tried[self.high]


def tightest(stored: Stored, chosen: Chosen, budget: Budget, span: Span) -> list[Outcome]:
    """Of each variant the tightest precision that fits, or the loosest that was tried if none does."""
    searches = [_Search(_precisions(stored, variant, chosen.left_out)) for variant in chosen.variants]
    while pending := [(one, at) for one in searches if (at := one.next) is not None]:
        outcomes = replayed(stored, [one.variants[at] for one, at in pending], span)
        for (one, at), outcome in zip(pending, outcomes, strict=True):
            one.take(at, outcome, budget)
    return [one.found for one in searches]


def _precisions(stored: Stored, variant: Variant, left_out: list[LeftOut]) -> list[Variant]:
    """The variant with every precision of a ladder around its own that it can have, the tightest first."""
    own, key = precision_of(variant.monitor), find_question(variant.monitor.question).precision
    if own is None or key in variant.wish:
        return [variant]
    centre = 10.0 ** len(str(int(own))) / 10 if own >= 1 else 1.0
    steps = {tidy(centre * step * 10.0**decade) for decade in _DECADES for step in _STEPS}
    wishes: list[VariantKeys] = [{**variant.wish, key: value} for value in sorted({*steps, 0} - {tidy(own)})]
    made = [variant_of(stored, wish) for wish in wishes]
    left_out += [one for one in made if isinstance(one, LeftOut) and not one.is_fault][:1]
    found = [one for one in made if isinstance(one, Variant)]
    return sorted([*found, variant], key=lambda one: one.precision or 0.0)
