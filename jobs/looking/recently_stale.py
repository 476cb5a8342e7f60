"""Whether a chain has become stale, told without reading all of it."""

from __future__ import annotations

from typing import Any

from jobs.epoch.chain import earliest
from jobs.lake import Lake
from jobs.looking.sealed_chain import chain_of, landed_of
from jobs.looking.staleness import Stale, stale_part
from monitoring_lib.config import Monitor, Source
from monitoring_lib.tables import ALERTS

RECENT = 24
"""Epochs before a run that are looked back to. A chain that became stale since the first of them was sealed is found,
also where the runs since were killed before they told anything; later only `farwatch status` and `maintain` tell it."""


def recently_stale(lake: Lake, source: Source, monitor: Monitor, start: int) -> Stale | None:
    """Where the chain is stale, for a run from `start` on.

    As long as nobody was told that it is, only what came since the last epochs before the run were first sealed is
    looked at: a landing may have come between the first seal of an epoch and its last revision.
    """
    near = lake.ledger.revisions(source.name, monitor.name, start - RECENT * source.epoch)
    versions, since = [seal.version for seal in near if seal.epoch_start < start], None
    if versions and not open_alerts(lake, monitor, "chain stale"):
        touched = lake.ledger.touched_since(source.name, monitor.name, min(versions))
        if touched is None:
            return None
        since = touched - source.epoch
    chain = chain_of(lake, source.name, monitor.name, since)
    return stale_part(source, monitor.name, chain, landed_of(lake, source.name, since), earliest(source, monitor))


def open_alerts(lake: Lake, monitor: Monitor, kind: str) -> dict[str, dict[str, Any]]:
    """The last alerts of a kind that are open, by what they are about."""
    rows = lake.centre.read(ALERTS, [("monitor", "=", monitor.name), ("kind", "=", kind)]).to_pylist()
    last = {row["about"]: row for row in sorted(rows, key=lambda row: (row["raised_at"], row["turn"]))}
    return {about: row for about, row in last.items() if row["state"] != "closed"}
