"""Whether the sites of each sealed epoch are the right ones: who joined, who was missing, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from jobs.epoch.cursor import Cursor
from jobs.lake import Lake
from jobs.lake.seals import Seal
from jobs.quality.findings import Finding
from jobs.terminal.wording import listed
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import DECISIONS, VALIDATIONS


def check_roster(
    source: Source, seal: Seal, cursor: Cursor | None, known: Collection[str], came: Collection[str],
    aside: Mapping[int, Collection[str]],
) -> Iterator[Finding]:  # fmt: skip
    """One epoch: `known` are the sites that had joined before, `came` those with events that the seal has seen."""
    joined = ({*came, *(source.sites or ())}).difference(known)
    yield from _compared(seal, "sites that joined are those with new events", joined, seal.joined_sites)
    met = {*known, *seal.joined_sites}
    retired = () if cursor is None else cursor.retired  # nobody misses those
    missing = met.intersection(aside[seal.epoch_start]).difference(retired)
    yield from _compared(seal, "missing sites are those that were set aside", missing, seal.missing_sites)
    if cursor is not None:
        members = [member.site for member in cursor.members]
        yield from _compared(seal, "the roster holds the sites that joined", met, members)
        yield from _compared(seal, "the roster knows who was missing", seal.missing_sites, list(cursor.away))


def set_aside(lake: Lake, source: Source, seals: Sequence[Seal]) -> dict[int, set[str]]:
    """By epoch the sites that the gate had set aside, or somebody had rejected, when the monitor sealed it."""
    found: dict[int, set[str]] = {seal.epoch_start: set() for seal in seals}
    for row in lake.sealed(VALIDATIONS, seals, ["gate"], [("source", "=", source.name)]).to_pylist():
        of_monitor = row["monitor"] in ("", seals[0].monitor)
        if of_monitor and not row["success"] and row["severity"] == "critical" and row["site"]:
            found[to_microseconds(row["epoch_start"])].add(row["site"])
    sealed_at = {seal.epoch_start: seal.sealed_at for seal in seals}
    for row in lake.centre.read(DECISIONS, [("source", "=", source.name)]).sort_by("decided_at").to_pylist():
        start = to_microseconds(row["epoch_start"])
        if start in found and to_microseconds(row["decided_at"]) <= sealed_at[start]:
            (found[start].discard if row["verdict"] == "admitted" else found[start].add)(row["site"])
    return found


def _compared(seal: Seal, expectation: str, expected: Collection[str], found: Sequence[str]) -> Iterator[Finding]:
    surplus, lacking = sorted(set(found) - set(expected)), sorted(set(expected) - set(found))
    if surplus or lacking:
        parts = [f"{listed(surplus)} should not be there"] if surplus else []
        parts += [f"{listed(lacking)} should be"] if lacking else []
        yield Finding(
            seal.epoch_start, expectation, False, monitor=seal.monitor, observed="; ".join(parts),
            detail="the seal, or the tables `events`, `validations` and `cursors`, were changed since: restore them"
            " from a copy, or replay the epoch with `farwatch run … --revise`",
        )  # fmt: skip
