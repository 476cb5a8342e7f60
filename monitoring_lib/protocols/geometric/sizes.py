"""What a site counts in: one exact counter an item, or an ECM sketch whose size follows from the error."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.methods import Ask
from monitoring_lib.synopses._rows import HashRows
from monitoring_lib.synopses._window import EventWindow
from monitoring_lib.synopses.ecm import EcmSketch, Use, collisions_for, counters_for


@dataclass(frozen=True)
class Sizes:
    """The rows and counters of the sites' sketches; `rows` is None where counters are exact.

    For an error e: ``rows.error <= e / (1 + e)``, and ``counter_error`` is e for counts of items,
    ``sqrt(1 + e) - 1`` for self-joins.
    """

    span: int
    rows: HashRows | None
    counter_error: float

    @classmethod
    def of(cls, ask: Ask, use: Use) -> Sizes:
        assert ask.span is not None, "the question takes sliding windows only"
        error = ask.params.error
        if error == 0:
            return cls(ask.span, None, 0.0)
        rows = HashRows.for_error(collisions_for(error), ask.confidence, getattr(ask.options, "seed", 0))
        return cls(ask.span, rows, counters_for(error, use))

    @property
    def depth(self) -> int:
        return 1 if self.rows is None else self.rows.depth

    def sketch(self) -> EcmSketch | None:
        """An empty sketch, or None where counters are exact."""
        if self.rows is None:
            return None
        return EcmSketch.of_rows(self.rows, EventWindow(self.span), self.counter_error)
