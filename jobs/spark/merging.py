"""The parts of each cell, which tasks have built, put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.spark.building import CellOutcome, Making, OutcomeBatches
from jobs.spark.shipping import KeySample
from monitoring_lib.codec import decode
from monitoring_lib.summaries import TICK, Intake

PART = (
    "intake int, site string, epoch_start bigint, events bigint, refused bigint, payload binary,"
    " hashes binary, letters binary, fault string"
)
"""What a task hands on of a cell: a synopsis, and a sample of its keys."""


@dataclass(frozen=True)
class MergeParts:
    """The function that Spark maps over parts, sorted by intake and cell."""

    intakes: tuple[Intake, ...]
    making: Making

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = OutcomeBatches(self.making)
        rows = (row for batch in batches for row in batch.to_pylist())
        for (number, start, site), parts in groupby(
            rows, key=lambda row: (row["intake"], row["epoch_start"], row["site"])
        ):
            yield from out.add(self._merged(self.intakes[number], site, start, list(parts)))
        yield from out.rest()

    def _merged(self, intake: Intake, site: str, start: int, parts: list[dict[str, Any]]) -> CellOutcome:
        outcome = CellOutcome(intake.name, site, start)
        outcome.events = sum(part["events"] for part in parts)
        outcome.refused = sum(part["refused"] for part in parts)
        outcome.fault = min((part["fault"] for part in parts if part["fault"]), default=None)
        if outcome.fault:
            return outcome
        with outcome.guarded():
            outcome.payload = self._payload(intake, [part["payload"] for part in parts])
            outcome.shipping = self._shipping(outcome, intake, parts)
        return outcome

    def _payload(self, intake: Intake, payloads: list[bytes]) -> bytes:
        if len(payloads) == 1:
            return payloads[0]
        summary = intake.summary
        return summary.merge([decode(payload, summary.synopsis) for payload in payloads]).to_bytes()

    def _shipping(self, outcome: CellOutcome, intake: Intake, parts: list[dict[str, Any]]) -> int:
        if intake.name in self.making.exact:
            return len(outcome.payload)
        sample = KeySample.none()
        for part in parts:
            sample = sample.joined(np.frombuffer(part["hashes"], np.uint64), np.frombuffer(part["letters"], np.int32))
        return sample.shipping(outcome.events, TICK in intake.summary.keys)
