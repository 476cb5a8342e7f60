"""What a monitor's method sent, beside what sending everything would take; and what each link carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jobs.epoch.asked_then import monitor_then, source_then
from jobs.lake import Lake, column_list
from jobs.lake.conditions import RowCondition
from jobs.lake.seals import Seal
from jobs.looking.sealed import SealedEpoch
from jobs.looking.sealed_chain import SealedChain
from jobs.terminal.wording import size
from monitoring_lib.config import Monitor, Source
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols import find_method
from monitoring_lib.tables import MESSAGES, WRITES
from monitoring_lib.topology import Topology, Tree


@dataclass(frozen=True)
class Traffic:
    """Bytes that crossed, shadows not counted, and bytes that sending everything would have taken."""

    bytes: int
    shipping: int

    @property
    def text(self) -> str:
        return f"{size(self.bytes)} crossed where shipping every count would take {size(self.shipping)}"


def traffic_of(lake: Lake, last: Seal, seals: Sequence[Seal]) -> dict[int, Traffic]:
    """By start, of each of these epochs of a chain, as it was configured at its `last`.

    Where no shadow ran, the seals know what was sent.
    """
    sent: dict[int, int] = {}
    for (method, is_alone), own in _by_method(seals).items():
        if is_alone:
            sent |= {seal.epoch_start: seal.counts.get("message_bytes", 0) for seal in own}
            continue
        conditions: list[RowCondition] = [("monitor", "=", last.monitor), ("method", "=", method)]
        rows = lake.sealed(MESSAGES, own, ["inbox", "messages"], conditions, ["epoch_start", "bytes"])
        for start, count in zip(column_list(rows, "epoch_start"), rows["bytes"].to_pylist(), strict=True):
            sent[start] = sent.get(start, 0) + count
    named = {(seal.writes.get("synopses"), seal.epoch_start) for seal in seals}
    shipped = shipped_by_epoch(lake, source_then(last), monitor_then(last), named)
    return {
        seal.epoch_start: Traffic(sent.get(seal.epoch_start, 0), shipped.get(seal.epoch_start, 0)) for seal in seals
    }


def traffic_so_far(lake: Lake, epoch: SealedEpoch) -> Traffic:
    """Of the whole chain. Where no shadow ran, the seals know it already."""
    chain, name = epoch.chain, epoch.monitor.name
    sent = chain.counts("message_bytes")
    shadowed = _shadowed(lake, epoch.source.name, name, chain)
    starts = chain.starts
    total = int(sent[~shadowed].sum())
    if shadowed.any():
        first, last = int(starts[shadowed][0]), int(starts[shadowed][-1])
        wanted = set(starts[shadowed].tolist())
        seals = lake.ledger.seals(epoch.source.name, name, first, last + 1)
        total += sum(
            one.bytes for one in traffic_of(lake, epoch.seal, [s for s in seals if s.epoch_start in wanted]).values()
        )
    named = set(zip(chain.writes("synopses"), starts.tolist(), strict=True))
    shipped = shipped_by_epoch(lake, epoch.source_then, epoch.then, named)
    return Traffic(total, sum(shipped.values()))


def _by_method(seals: Sequence[Seal]) -> dict[tuple[str, bool], list[Seal]]:
    """The seals by the method that they publish, and by whether it ran without shadows."""
    chosen: dict[str, tuple[str, bool]] = {}
    found: dict[tuple[str, bool], list[Seal]] = {}
    for seal in seals:
        if seal.config_digest not in chosen:
            then = monitor_then(seal)
            chosen[seal.config_digest] = then.method, not then.shadow
        found.setdefault(chosen[seal.config_digest], []).append(seal)
    return found


def _shadowed(lake: Lake, source: str, monitor: str, chain: SealedChain) -> np.ndarray:
    """Which epochs of the chain ran shadows: one seal of each configuration is asked."""
    digests = np.asarray(chain.column("config_digest"), object)
    answer = np.zeros(len(chain), bool)
    for digest in sorted(set(digests.tolist())):
        start = int(chain.starts[digests == digest][0])
        [seal] = lake.ledger.seals(source, monitor, start, start + 1)
        answer[digests == digest] = bool(monitor_then(seal).shadow)
    return answer


def shipped_by_epoch(
    lake: Lake, source: Source, monitor: Monitor, named: set[tuple[str | None, int]]
) -> dict[int, int]:
    """Bytes that sending everything would take, by epoch, as recorded when the synopses were written."""
    starts = [start for _, start in named]
    method = find_method(monitor.question, monitor.method)(monitor.ask(source, monitor.method))
    conditions: list[RowCondition] = [
        ("source", "=", source.name),
        ("owner", "=", monitor.intake(method.summary(), source).name),
        ("epoch_start", ">=", min(starts)),
        ("epoch_start", "<=", max(starts)),
    ]
    rows = lake.centre.read(WRITES, conditions, ["write", "epoch_start", "shipping"])
    cells = zip(rows["write"].to_pylist(), column_list(rows, "epoch_start"), rows["shipping"].to_pylist(), strict=True)
    return {start: count for write, start, count in cells if (write, start) in named}


@dataclass(frozen=True)
class LinkTraffic:
    """What crossed each link in an epoch, both ways together: entries and bytes by (child, parent)."""

    entries: dict[tuple[str, str], int]
    bytes: dict[tuple[str, str], int]

    @property
    def root(self) -> int:
        """Entries over the links of the coordinator."""
        return sum(count for link, count in self.entries.items() if COORDINATOR in link)

    @property
    def heaviest(self) -> tuple[tuple[str, str], int]:
        """The link that carried most entries."""
        return max(self.entries.items(), key=lambda pair: (pair[1], pair[0]))

    @property
    def total(self) -> int:
        return sum(self.entries.values())


def loads_of(lake: Lake, epoch: SealedEpoch) -> LinkTraffic:
    """What every link of the published method's network carried in the epoch."""
    method = epoch.method()
    topology = epoch.moment(lake, method).topology
    conditions: list[RowCondition] = [("monitor", "=", epoch.monitor.name), ("method", "=", method.name)]
    columns = ["sender", "receivers", "entries", "bytes"]
    rows = lake.sealed(MESSAGES, [epoch.seal], ["inbox", "messages"], conditions, columns)
    entries: dict[tuple[str, str], int] = {}
    sizes: dict[tuple[str, str], int] = {}
    for row in rows.to_pylist():
        for receiver in row["receivers"]:
            link = _link(topology, row["sender"], receiver)
            entries[link] = entries.get(link, 0) + row["entries"] // len(row["receivers"])
            sizes[link] = sizes.get(link, 0) + row["bytes"] // len(row["receivers"])
    return LinkTraffic(entries, sizes)


def _link(topology: Topology, one: str, other: str) -> tuple[str, str]:
    """A link by its two ends: in a tree the lower first, in a star the site, in a mesh by name."""
    if isinstance(topology, Tree):
        return (one, other) if topology.parents.get(one) == other else (other, one)
    if COORDINATOR in (one, other):
        return (other, one) if one == COORDINATOR else (one, other)
    return (one, other) if one <= other else (other, one)
