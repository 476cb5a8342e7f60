"""Runs methods over different pairs, epoch by epoch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from monitoring_lib.answers import Answer
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.distinct_pairs.heavy_question import HeavyHittersParams
from monitoring_lib.protocols.distinct_pairs.quantile_question import QuantilesParams
from monitoring_lib.summaries import Cell
from tests.laws.grouping import synopsis_of
from tests.protocols.watch import EPOCH, Watch

Pair = tuple[str, str]


def heavy(kind: type[Method], share: str = "0.1", error: str = "0.02", confidence: float = 0.95, **more: Any) -> Ask:
    params = HeavyHittersParams(share=Decimal(share), error=Decimal(error))
    return _ask(kind, params, confidence, **more)


def quantiles(
    kind: type[Method], *wanted: float, bits: int = 16, error: str = "0.05", confidence: float = 0.95, **more: Any
) -> Ask:
    params = QuantilesParams(bits=bits, quantiles=wanted or (0.1, 0.5, 0.9), error=Decimal(error))
    return _ask(kind, params, confidence, **more)


def _ask(
    kind: type[Method], params: Any, confidence: float, window: Window | None = None, paired: bool = True,
    **options: Any,
) -> Ask:  # fmt: skip
    return Ask(
        params, kind.Options(**options), window or Window(), epoch=EPOCH, tick=EPOCH, confidence=confidence,
        paired=paired,
    )  # fmt: skip


class PairWatch(Watch):
    """Events are pairs of an item and a partner."""

    def step(self, events: Mapping[str, Sequence[Pair]], missing: Collection[str] = ()) -> dict[str, Answer]:
        """An epoch with these pairs at each site; the rows that were published, by key."""
        summary = self.replay.summaries[0]
        cell = Cell("", self.epoch, self.epoch * EPOCH, (self.epoch + 1) * EPOCH, EPOCH)
        synopses = {
            site: synopsis_of(summary, cell, [{"item": item, "by": partner} for item, partner in pairs])
            for site, pairs in events.items()
        }
        return self.take(synopses, missing)

    @property
    def broken(self) -> float:
        """The share of the probable verdicts that were not kept."""
        probable = [verdict.kept for verdict in self.verdicts if verdict.confidence < 1]
        return probable.count(False) / len(probable)

    def assert_certain(self) -> None:
        assert [verdict for verdict in self.verdicts if verdict.confidence == 1 and not verdict.kept] == []
