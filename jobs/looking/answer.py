"""A monitor's answer for one sealed epoch, with all that a reader needs to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.epoch.chain import cursor_of, earliest
from jobs.epoch.checked import check_sealed
from jobs.epoch.context import Context
from jobs.epoch.planning import OWED
from jobs.lake import Lake
from jobs.lake.seals import Seal
from jobs.looking.audited import Audited, audited_of
from jobs.looking.owing import SetAside, set_aside_of
from jobs.looking.recently_stale import recently_stale
from jobs.looking.sealed import SealedEpoch, find_epoch, last_epoch
from jobs.looking.sealed_chain import landed_of
from jobs.looking.staleness import Stale, stale_part
from jobs.looking.stays import StayKey, stays
from jobs.looking.traffic import Traffic, traffic_of, traffic_so_far
from jobs.terminal.wording import printable
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.errors import UsageError
from monitoring_lib.network import is_site, site_of_node
from monitoring_lib.suggest import nearest
from monitoring_lib.tables import DRAFTS


@dataclass(frozen=True)
class Past:
    """One epoch of the history."""

    seal: Seal
    rows: Sequence[dict[str, Any]]
    traffic: Traffic


@dataclass(frozen=True)
class ShownAnswer:
    """`rows` are the answer's, best rank first; `since` says for how long each has been in it.

    `since` and `so_far` are None where only the epoch itself was looked at.
    """

    epoch: SealedEpoch
    rows: Sequence[dict[str, Any]]
    sites: int
    """How many the monitor knew."""
    since: Mapping[StayKey, int] | None
    traffic: Traffic
    so_far: Traffic | None
    stale: Stale | None
    """Set only if what is stale reaches this epoch."""
    config_changed: bool
    history: Sequence[Past] = ()
    set_aside: Sequence[SetAside] = ()
    """Rows of its window that it does not count."""
    audited: Audited | None = None

    @property
    def is_partial(self) -> bool:
        """Whether data that belongs to the answer is known to be missing; one without rows cannot say so itself."""
        seal = self.epoch.seal
        return (
            bool(seal.counts.get(OWED))
            or any(row["partial"] for row in self.rows)
            or (bool(seal.missing_sites) and not self.rows)
        )

    def of_node(self, node: str) -> ShownAnswer:
        """Only what one node says."""
        rows = [row for row in self.rows if row["node"] == node]
        if not rows:
            name = site_of_node(node) if is_site(node) else node
            said = sorted({row["node"] for row in self.rows})
            raise UsageError(
                f"'{printable(name)}' published nothing in epoch {format_time(self.epoch.seal.epoch_start)}"
                f"{nearest(node, said[:20])}"
            )
        return replace(self, rows=rows)


def look(context: Context, monitor: str, time: str | None = None, history: int = 0) -> ShownAnswer:
    """Reads what is sealed, and of that only what this epoch needs."""
    epoch, lake = find_epoch(context, monitor, time), context.lake
    rows = _answers(lake, epoch, [epoch.seal])[epoch.seal.epoch_start]
    wanted = {(row["node"], row["key"]) for row in rows if row["rank"] is not None}
    stale = stale_part(
        epoch.source, monitor, epoch.whole, landed_of(lake, epoch.source.name), earliest(epoch.source, epoch.monitor)
    )
    return ShownAnswer(
        epoch, rows, len(epoch.chain.sites), stays(lake, epoch, wanted),
        traffic_of(lake, epoch.seal, [epoch.seal])[epoch.seal.epoch_start], traffic_so_far(lake, epoch),
        stale if stale is not None and stale.first <= epoch.seal.epoch_start else None,
        epoch.seal.config_digest != context.config.digest_of(epoch.monitor),
        _past(lake, epoch, history), set_aside_of(lake, epoch.source, epoch.seal),
        audited_of(lake, epoch.source.name, monitor, epoch.whole),
    )  # fmt: skip


def look_briefly(context: Context, monitor: str) -> ShownAnswer:
    """The last sealed epoch alone: no more is read where the chain is long, unless it is known to be stale."""
    epoch, lake = last_epoch(context, monitor), context.lake
    start = epoch.seal.epoch_start
    return ShownAnswer(
        epoch, _answers(lake, epoch, [epoch.seal])[start], len(cursor_of(lake, epoch.seal).members), None,
        traffic_of(lake, epoch.seal, [epoch.seal])[start], None,
        recently_stale(lake, epoch.source, epoch.monitor, start),
        epoch.seal.config_digest != context.config.digest_of(epoch.monitor),
        set_aside=set_aside_of(lake, epoch.source, epoch.seal),
    )  # fmt: skip


def _past(lake: Lake, epoch: SealedEpoch, count: int) -> list[Past]:
    """The last epochs up to this one, the newest first."""
    if not count:
        return []
    starts = epoch.chain.starts[-count:]
    seals = lake.ledger.seals(epoch.source.name, epoch.monitor.name, int(starts[0]), int(starts[-1]) + 1)
    rows, traffic = _answers(lake, epoch, seals), traffic_of(lake, epoch.seal, seals)
    return [Past(seal, rows[seal.epoch_start], traffic[seal.epoch_start]) for seal in reversed(seals)]


def _answers(lake: Lake, epoch: SealedEpoch, seals: Sequence[Seal]) -> dict[int, list[dict[str, Any]]]:
    """The answers of these epochs as sealed, also where publishing them was cut off."""
    found = lake.sealed(DRAFTS, seals, ["drafts"], [("monitor", "=", epoch.monitor.name)])
    check_sealed(lake, DRAFTS, ["drafts"], seals, found)
    rows: dict[int, list[dict[str, Any]]] = {seal.epoch_start: [] for seal in seals}
    for row in found.to_pylist():
        rows[to_microseconds(row["epoch_start"])].append(row)
    for own in rows.values():
        own.sort(key=lambda row: (row["tick"], row["node"], row["rank"] or float("inf"), row["key"]))
    return rows
