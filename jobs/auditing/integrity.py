"""Whether every row that a seal names is there as it was sealed, and what readers are shown is what was sealed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from jobs.epoch.checked import damages
from jobs.lake import Lake, column_list
from jobs.lake.checking import differences
from jobs.lake.conditions import RowCondition
from jobs.lake.content import digest_rows
from jobs.lake.records import Part
from jobs.lake.seals import Seal
from jobs.lake.times import rows_by
from jobs.quality.findings import Finding
from jobs.terminal.wording import counted
from monitoring_lib.tables import (
    ANSWERS,
    ARRIVALS,
    CURSORS,
    DRAFTS,
    EPOCHS,
    MESSAGES,
    ROSTERS,
    SITE_STATES,
    STATES,
    SYNOPSES,
    Table,
)

OUTPUTS: dict[Table, tuple[str, ...]] = {
    ROSTERS: ("rosters",), CURSORS: ("cursors",), DRAFTS: ("drafts",), STATES: ("states",),
    ARRIVALS: ("arrivals",), MESSAGES: ("inbox", "messages"), SITE_STATES: ("site_states",), SYNOPSES: ("synopses",),
}  # fmt: skip
"""Of each table with sealed rows, the outputs under which seals name them."""


def sealed_rows(lake: Lake, table: Table, seals: Sequence[Seal]) -> pa.Table:
    """All rows of a table that the seals of one monitor name, payloads of the sites' tables as their SHA-256."""
    named = {
        (seal.epoch_start, write) for seal in seals for output in OUTPUTS[table] if (write := _write_of(seal, output))
    }
    if not table.at_sites:
        own = "monitor" if "monitor" in table.columns else "source"
        return lake.named(table, named, [(own, "=", getattr(seals[0], own))])
    if lake.sites.open(table) is None or not named:
        return table.schema.empty_table()
    if table is not SYNOPSES:
        return lake.fingerprints(table, named, [("monitor", "=", seals[0].monitor)])
    summaries = sorted({key.partition(":")[2] for seal in seals for key in seal.digests if key.startswith("synopses:")})
    only: list[RowCondition] = [("source", "=", seals[0].source), ("summary", "in", summaries)]
    return lake.fingerprints(table, named, only)


def _write_of(seal: Seal, output: str) -> str:
    return seal.writes.get("gate" if output == "arrivals" else output, "")


def check_digests(lake: Lake, table: Table, seals: Sequence[Seal], rows: pa.Table) -> Iterator[Finding]:
    """The parts of a table that are other than the seals of one monitor say."""
    expected: dict[Part, str] = {}
    for seal in seals:
        for key, digest in seal.digests.items():
            output, _, of = key.partition(":")
            if output in OUTPUTS[table] and digest:
                owner, method = (of, "") if table is SYNOPSES else (seal.monitor, of)
                owner = owner if "monitor" in table.columns or table is SYNOPSES else seal.source
                expected[Part(_write_of(seal, output), output, owner, method, seal.epoch_start)] = digest
    different = differences(table, rows, expected)
    told = damages(lake, seals[0].source, seals[0].monitor, different)
    for found, damage in zip(different, told, strict=True):
        yield Finding(
            found.part.epoch_start, f"{table.name} are as sealed", False, monitor=seals[0].monitor,
            observed=found.text, detail=str(damage),
        )  # fmt: skip


def check_published(lake: Lake, seals: Sequence[Seal]) -> Iterator[Finding]:
    """The table `answers`, which anyone reads, against the sealed drafts. Epochs may be sealed meanwhile.

    What was sealed last may not be published yet; where something that was sealed later is, it must be. So what is
    published is read first, and the ledger last.
    """
    monitor = seals[0].monitor
    starts = [seal.epoch_start for seal in seals]
    own: list[RowCondition] = [("monitor", "=", monitor)]
    published = _keys(lake.centre.read(ANSWERS, own, ["epoch_start", "revision"]))
    conditions: list[RowCondition] = [*own, ("epoch_start", ">=", min(starts)), ("epoch_start", "<=", max(starts))]
    shown = rows_by(lake.centre.read(ANSWERS, conditions), "epoch_start", "revision")
    ledger = lake.centre.read(EPOCHS, [*own, ("source", "=", seals[0].source)], ["epoch_start", "revision", "version"])
    versions = dict(zip(_keys(ledger), ledger["version"].to_pylist(), strict=True))
    newest = max((versions.get(key, -1) for key in published), default=-1)
    known = {(seal.epoch_start, seal.revision): seal for seal in seals}
    for key in sorted(known.keys() | {key for key in shown if key[0] in starts and key not in versions}):
        seal, rows = known.get(key), shown.get(key)
        digest = seal and next((one for name, one in seal.digests.items() if name.split(":")[0] == "drafts"), None)
        if rows is None and (not digest or versions[key] > newest):
            continue
        found = None if rows is None else digest_rows(DRAFTS, rows.select(list(DRAFTS.columns)))
        if found != digest:
            there = counted(rows.num_rows if rows is not None else 0, "row")
            what = f"its seal names {counted(seal.counts.get('answers', 0), 'row')}" if seal else "no seal names them"
            yield Finding(
                key[0], "answers are as sealed", False, monitor=monitor,
                observed=f"{there} of revision {key[1]} in the table `answers`",
                detail=f"{what}, and they are not those; restore the table `answers` from a copy",
            )  # fmt: skip


def _keys(rows: pa.Table) -> list[tuple[int, int]]:
    return list(zip(column_list(rows, "epoch_start"), rows["revision"].to_pylist(), strict=True))


def check_seal(revisions: Sequence[tuple[Seal, str]], parent: str | None) -> Iterator[Finding]:
    """The last revision of an epoch names the epoch before it as it is now; `parent` is that one's digest, ''
    where the chain begins, None where it is gone."""
    last = revisions[-1][0]
    if last.parent != parent:
        yield Finding(
            last.epoch_start, "the chain has no break", False, monitor=last.monitor,
            observed=f"parent {last.parent or 'none'}, the epoch before has {parent or 'none'}",
            detail="the epoch before was revised, or changed, since; `farwatch status` says how to replay",
        )  # fmt: skip
