"""The table `writes`: what each write holds of each epoch, with the digest that a reader checks it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jobs.lake.content import digest_rows
from jobs.lake.store import Condition
from monitoring_lib.epochs import to_datetime, to_microseconds
from monitoring_lib.tables import WRITES, Table

if TYPE_CHECKING:
    from jobs.lake import Lake


def record(table: Table, source: str, step: str, rows: Sequence[Mapping[str, Any]], write: str) -> list[dict[str, Any]]:
    """The records of rows that are in this process: one an epoch and owner, a monitor or a synopsis' summary."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        owner = row["summary"] if "summary" in row else row["monitor"]
        groups.setdefault((owner, _micros(row["epoch_start"])), []).append(row)
    now = datetime.now(UTC)
    return [
        {
            "source": source, "owner": owner, "epoch_start": to_datetime(epoch_start), "step": step,
            "table": table.name, "rows": len(group), "bytes": sum(_payload_bytes(row) for row in group),
            "digest": digest_rows(table, group), "finished_at": now, "write": write,
        }
        for (owner, epoch_start), group in sorted(groups.items())
    ]  # fmt: skip


def record_site_write(lake: Lake, table: Table, source: str, step: str, write: str) -> list[dict[str, Any]]:
    """The records of a write that Spark made."""
    return record(table, source, step, lake.sites.fingerprints(table, [("write", "=", write)]), write)


def recorded(
    lake: Lake, writes: Iterable[str], span: Iterable[Condition]
) -> dict[tuple[str, str, str, int], dict[str, Any]]:
    """The records of these writes and epochs, by (write, table, owner, epoch)."""
    rows = lake.of_writes(WRITES, list(writes), span).to_pylist()
    return {(row["write"], row["table"], row["owner"], to_microseconds(row["epoch_start"])): row for row in rows}


def _micros(moment: datetime | int) -> int:
    return moment if isinstance(moment, int) else to_microseconds(moment)


def _payload_bytes(row: Mapping[str, Any]) -> int:
    return int(row["payload_bytes"]) if "payload_bytes" in row else len(row.get("payload", b""))
