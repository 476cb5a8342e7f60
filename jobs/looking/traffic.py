"""What a monitor's method sent, beside what the sites' synopses take: as if every count were shipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jobs.lake import Lake, column_list
from jobs.lake.seals import Seal
from jobs.lake.store import Condition
from jobs.looking.marks import Marks
from jobs.looking.sealed import SealedEpoch, monitor_of
from jobs.summaries import wanted_by
from jobs.wording import size
from monitoring_lib.tables import MESSAGES, WRITES


@dataclass(frozen=True)
class Traffic:
    """Bytes that crossed, shadows not counted, and bytes of the synopses that were summed up instead."""

    bytes: int
    shipping: int

    @property
    def text(self) -> str:
        return f"{size(self.bytes)} crossed where shipping every count would take {size(self.shipping)}"


def traffic_of(lake: Lake, epoch: SealedEpoch, seals: Sequence[Seal]) -> dict[int, Traffic]:
    """By start, of each of these epochs of the chain."""
    sent: dict[int, int] = {}
    for method, own in _by_method(seals).items():
        conditions: list[Condition] = [("monitor", "=", epoch.monitor.name), ("method", "=", method)]
        rows = lake.sealed(MESSAGES, own, ["inbox", "messages"], conditions, ["epoch_start", "bytes"])
        for start, count in zip(column_list(rows, "epoch_start"), rows["bytes"].to_pylist(), strict=True):
            sent[start] = sent.get(start, 0) + count
    shipped = _shipped(lake, epoch, {(seal.writes.get("synopses"), seal.epoch_start) for seal in seals})
    return {
        seal.epoch_start: Traffic(sent.get(seal.epoch_start, 0), shipped.get(seal.epoch_start, 0)) for seal in seals
    }


def traffic_so_far(lake: Lake, epoch: SealedEpoch) -> Traffic:
    """Of the whole chain. Where no shadow ran, the seals know it already."""
    marks, name = epoch.marks, epoch.monitor.name
    sent = marks.counts("message_bytes")
    shadowed = _shadowed(lake, epoch.source.name, name, marks)
    starts = marks.starts
    total = int(sent[~shadowed].sum())
    if shadowed.any():
        first, last = int(starts[shadowed][0]), int(starts[shadowed][-1])
        wanted = set(starts[shadowed].tolist())
        seals = lake.ledger.seals(epoch.source.name, name, first, last + 1)
        total += sum(
            one.bytes for one in traffic_of(lake, epoch, [s for s in seals if s.epoch_start in wanted]).values()
        )
    shipped = _shipped(lake, epoch, set(zip(marks.writes("synopses"), starts.tolist(), strict=True)))
    return Traffic(total, sum(shipped.values()))


def _by_method(seals: Sequence[Seal]) -> dict[str, list[Seal]]:
    """The seals by the method that they publish."""
    chosen: dict[str, str] = {}
    found: dict[str, list[Seal]] = {}
    for seal in seals:
        if seal.config_digest not in chosen:
            chosen[seal.config_digest] = monitor_of(seal).method
        found.setdefault(chosen[seal.config_digest], []).append(seal)
    return found


def _shadowed(lake: Lake, source: str, monitor: str, marks: Marks) -> np.ndarray:
    """Which epochs of the chain ran shadows: one seal of each configuration is asked."""
    digests = np.asarray(marks.column("config_digest"), object)
    answer = np.zeros(len(marks), bool)
    for digest in sorted(set(digests.tolist())):
        start = int(marks.starts[digests == digest][0])
        [seal] = lake.ledger.seals(source, monitor, start, start + 1)
        answer[digests == digest] = bool(monitor_of(seal).shadow)
    return answer


def _shipped(lake: Lake, epoch: SealedEpoch, named: set[tuple[str | None, int]]) -> dict[int, int]:
    """Bytes of the monitor's synopses by epoch, as recorded when they were written."""
    starts = [start for _, start in named]
    conditions: list[Condition] = [
        ("source", "=", epoch.source.name),
        ("owner", "=", wanted_by(epoch.then, epoch.source).name),
        ("epoch_start", ">=", min(starts)),
        ("epoch_start", "<=", max(starts)),
    ]
    rows = lake.centre.read(WRITES, conditions, ["write", "epoch_start", "bytes"])
    cells = zip(rows["write"].to_pylist(), column_list(rows, "epoch_start"), rows["bytes"].to_pylist(), strict=True)
    return {start: count for write, start, count in cells if (write, start) in named}
