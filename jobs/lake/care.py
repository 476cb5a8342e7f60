"""What `maintain` finds to do at a table, and does: dead rows, small files, checkpoints, files that nobody needs.

Each act is one commit that leaves the sealed content as it is, so that it may be killed anywhere and may run beside an
epoch. What another commit comes in between of is left for the next time. Looking needs no Spark, also where Spark is
the engine that writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from jobs.lake.conditions import predicate
from jobs.lake.site_tables import SiteTables
from jobs.lake.store import Store, count_rows
from jobs.lake.trouble import trouble
from jobs.lake.upkeep import NO_HOOKS, NO_RETRY, alone, checkpoint, compact, full_size, refuse_full
from jobs.lake.write_ids import begun_at
from jobs.terminal.console import say
from monitoring_lib.tables import Table

_HOUR = 3_600_000_000
_TIMES_LARGER = 16
"""Files of the coordinator that are put together here, against those that are while epochs run."""
_LARGE = 128_000_000
"""Files of the sites that are large enough to be left alone."""
_DAYS_IN_USE = 2
"""The newest days of a site table stay as they are: epochs append to them and read from them one by one."""
_MOST_WRITES = 500
"""Dead writes that one commit takes out."""


@dataclass(frozen=True)
class TableCare:
    """What there is to do at one table, and what it would save."""

    table: Table
    files: int
    bytes: int
    small: int = 0
    """Files that would be put together."""
    small_bytes: int = 0
    into: int = 0
    """How many files they would be."""
    days: tuple[date, ...] = ()
    """Of a partitioned table the days whose files they are."""
    dead_writes: tuple[str, ...] = ()
    dead_rows: int = 0
    unneeded: int = 0
    """Files on disk that no recent version of the table names."""
    unneeded_bytes: int = 0

    @property
    def is_due(self) -> bool:
        return bool(self.small or self.dead_writes or self.unneeded)

    @property
    def plain(self) -> dict[str, Any]:
        return {
            "table": self.table.name, "files": self.files, "bytes": self.bytes, "small_files": self.small,
            "into_files": self.into, "dead_writes": len(self.dead_writes), "dead_rows": self.dead_rows,
            "unneeded_files": self.unneeded, "unneeded_bytes": self.unneeded_bytes,
        }  # fmt: skip


@dataclass
class Care:
    """One table, in its store; `named` holds every write that some seal names."""

    table: Table
    store: Store
    named: Collection[str]
    now: int
    """Microseconds."""

    def look(self) -> TableCare | None:
        """None where nobody has written to the table yet."""
        found = self.store.open(self.table)
        if found is None:
            return None
        try:
            files = pa.table(found.get_add_actions(flatten=True))
            small, small_bytes, into, days = self._small(found, files)
            dead = self._dead(found)
            listed = found.vacuum(self.table.retention, dry_run=True, enforce_retention_duration=False, full=True)
        except (DeltaError, OSError) as error:
            raise trouble(self.store.location(self.table), "read", error) from error
        # Beside each file Spark keeps a hidden one with a checksum on a local disk; no engine counts those as files.
        unneeded = [name for name in listed if not name.rpartition("/")[2].startswith((".", "_"))]
        return TableCare(
            self.table, files.num_rows, sum(files["size_bytes"].to_pylist()), small, small_bytes, into, days,
            tuple(sorted(dead)), sum(dead.values()), len(unneeded), sum(map(self._size, unneeded)),
        )  # fmt: skip

    def _small(self, found: DeltaTable, files: pa.Table) -> tuple[int, int, int, tuple[date, ...]]:
        """How many files would be put together, their bytes, into how many, and of which days they are."""
        if not self.table.at_sites:
            size = _TIMES_LARGER * full_size(found)
            small = [one for one in files["size_bytes"].to_pylist() if one < size]
            into = -(-sum(small) // size)
            return (len(small), sum(small), into, ()) if len(small) > into else (0, 0, 0, ())
        by_day: dict[date | None, list[int]] = {}
        days = files[f"partition.{self.table.partition}"].to_pylist() if self.table.partition else [None] * len(files)
        for day, size in zip(days, files["size_bytes"].to_pylist(), strict=True):
            by_day.setdefault(day, []).append(size)
        closed = sorted(by_day, key=lambda day: day or date.min)[:-_DAYS_IN_USE] if self.table.partition else [None]
        many = {day: [size for size in by_day.get(day, ()) if size < _LARGE] for day in closed}
        due = {day: sizes for day, sizes in many.items() if len(sizes) > max(1, -(-sum(sizes) // _LARGE))}
        into = sum(max(1, -(-sum(sizes) // _LARGE)) for sizes in due.values())
        sizes = [size for own in due.values() for size in own]
        return len(sizes), sum(sizes), into, tuple(day for day in due if day is not None)

    def _dead(self, found: DeltaTable) -> Mapping[str, int]:
        """Rows of writes that no seal names and that began too long ago to be named any more."""
        if not self.table.by_seal:
            return {}
        oldest = self.now - self.table.retention * _HOUR
        rows: Counter[tuple[Any, ...]] = count_rows(found, ["write"], [])
        return {
            write: count
            for (write,), count in rows.items()
            if write not in self.named and (begun_at(write) or self.now) < oldest
        }

    def _size(self, name: str) -> int:
        """Of a file of the table; 0 where the storage is no folder, which is not asked file by file."""
        path = Path(self.store.location(self.table), name)
        return path.stat().st_size if "://" not in self.store.root and path.exists() else 0

    def do(self, found: TableCare, sites: SiteTables) -> None:
        if self.table.at_sites:
            self._by_spark(found, sites)
            return
        with alone(self.store.location(self.table)) as nobody_else:
            if nobody_else:
                self._here(found)
            else:
                say(f"{self.table.name}: another `farwatch maintain` is rewriting it, so it is left alone")

    def _here(self, found: TableCare) -> None:
        current, folder = self.store.opened(self.table), self.store.location(self.table)
        try:
            for at in range(0, len(found.dead_writes), _MOST_WRITES):
                dead = predicate([("write", "in", found.dead_writes[at : at + _MOST_WRITES])])
                refuse_full(folder, found.bytes)  # at worst every file holds some of the dead rows
                try:
                    current.delete(dead, commit_properties=NO_RETRY, post_commithook_properties=NO_HOOKS)
                except CommitFailedError:
                    break
                self.store.committed(self.table.name)
            if found.small:
                refuse_full(folder, found.small_bytes)
                if compact(current, _TIMES_LARGER * full_size(current)):
                    self.store.committed(self.table.name)
            if found.unneeded:
                current.vacuum(
                    self.table.retention, dry_run=False, enforce_retention_duration=False, full=True,
                    post_commithook_properties=NO_HOOKS,
                )  # fmt: skip
                self.store.committed(self.table.name)
            checkpoint(current)
        except (DeltaError, OSError) as error:
            raise trouble(folder, "written", error) from error

    def _by_spark(self, found: TableCare, sites: SiteTables) -> None:
        for at in range(0, len(found.dead_writes), _MOST_WRITES):
            sites.drop_writes(self.table, found.dead_writes[at : at + _MOST_WRITES])
        if found.small:
            sites.compact(self.table, found.days, _LARGE)
        if found.unneeded:
            sites.vacuum(self.table, self.table.retention)
