"""Events that are read where their files are: what a landing records of them, and how they are read and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jobs.input import files
from jobs.input import versions as delta_versions
from jobs.input.files import FoundFile
from jobs.input.plain import DataFile, PlainTable
from jobs.lake import Lake
from jobs.landing.filing import AcceptedTimes
from jobs.landing.plain_frames import PlainFile, events_of
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_datetime, to_microseconds
from monitoring_lib.errors import DataError
from monitoring_lib.tables import REFERENCES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def record_references(
    lake: Lake, source: Source, landed: Sequence[PlainFile], epochs: Mapping[str, Collection[int]]
) -> None:  # fmt: skip
    """Appends what is needed to read the events of these files again, under the write that landed them."""
    rows = [
        _row(source, file, part, epochs[file.digest])
        for file in landed
        if epochs.get(file.digest)
        for part in file.table.files
    ]
    lake.append(REFERENCES, rows)


def _row(source: Source, file: PlainFile, part: DataFile, starts: Collection[int]) -> dict[str, Any]:
    now = files.as_it_is(part.path)
    return {
        "source": source.name, "digest": file.digest, "version": file.found.path, "path": part.path,
        "bytes": now.size, "modified": to_datetime(now.modified), "before": part.before, "records": part.records,
        "columns": sorted(file.table.columns.items()), "parts": sorted(part.parts.items()),
        "first_epoch": to_datetime(min(starts)), "last_epoch": to_datetime(max(starts)),
        "earliest": None if file.taken.earliest is None else to_datetime(file.taken.earliest),
        "latest": to_datetime(file.taken.latest), "write": file.write,
    }  # fmt: skip


def referred_events(
    lake: Lake, source: Source, writes: Sequence[str], replaced: Collection[tuple[str, str]], start: int, end: int
) -> DataFrame | None:  # fmt: skip
    """The events of these writes in the files that hold any of ``[start, end)``; None where no file does.

    DataError where a file is gone or has changed since it landed.
    """
    if not writes:
        return None
    rows = lake.sites.read(REFERENCES, [("source", "=", source.name), ("write", "in", list(writes))]).to_pylist()
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        reaches = to_microseconds(row["first_epoch"]) < end and to_microseconds(row["last_epoch"]) >= start
        if reaches and (row["digest"], row["write"]) not in replaced:
            _refuse_changed(source, row)
            found.setdefault((row["digest"], row["write"]), []).append(row)
    if not found:
        return None
    return events_of(lake.site_tables, source, [_plain_file(parts) for _, parts in sorted(found.items())])


def _plain_file(rows: Sequence[Mapping[str, Any]]) -> PlainFile:
    parts = [DataFile(row["path"], row["before"], row["records"], dict(row["parts"])) for row in rows]
    one = rows[0]
    earliest = None if one["earliest"] is None else to_microseconds(one["earliest"])
    taken = AcceptedTimes(earliest, to_microseconds(one["latest"]))
    table = PlainTable(dict(one["columns"]), parts)
    return PlainFile(0, FoundFile(one["version"], 0, 0), one["digest"], table, taken, one["write"])


def _refuse_changed(source: Source, row: Mapping[str, Any]) -> None:
    """A file that was only touched, or put back, still has its digest; those of Delta tables never change."""
    now = files.as_it_is(row["path"])
    if (now.size, now.modified) == (row["bytes"], to_microseconds(row["modified"])):
        return
    told = f"{row['path']}: events of {source.name} are read from it (`land: reference`), and it"
    if now.modified == 0 and now.size == 0:
        raise DataError(
            f"{told} is gone. Put it back as it was; or leave these events out for good: give the source a new name,"
            " and run its epochs anew"
        )
    same = now.size == row["bytes"] and (
        delta_versions.parse(row["version"]) is not None or files.digest(row["path"]) == row["digest"]
    )
    if not same:
        raise DataError(
            f"{told} has changed since {_when(row['modified'])}. Put it back as it was; or take it in as it is now by"
            f" `farwatch land --source {source.name} --changed replace`"
        )


def _when(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="seconds")
