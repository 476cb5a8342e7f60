"""Step 1, land: files that the source has not brought before become events, each under its own epoch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs import files
from jobs.context import Context
from jobs.handover import Handover
from jobs.lake import column_list, new_write
from jobs.lake.ledger import Overtaken
from jobs.landing_rows import FILE_FAULT, PARSED_DDL, LandFiles
from jobs.report import say
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import DataError, StorageError
from monitoring_lib.tables import EVENTS, LANDINGS, QUARANTINE, VALIDATIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HASHERS = 4
_MOST_TRIES = 5


@dataclass(frozen=True)
class NewFile:
    """A file that no landing knows by path, size and time of change."""

    path: str
    size: int
    modified: int
    digest: str
    same_as: str = ""
    """The path under which the same content has landed before."""


@dataclass(frozen=True)
class Tally:
    """What one landing brought: rows by (digest, epoch), set-aside rows by digest."""

    landed: Counter[tuple[Any, ...]]
    quarantined: Counter[tuple[Any, ...]]


def land(context: Context, handover: Handover) -> None:
    """Lands every new file of the source; commits nothing where there is none."""
    source = context.config.source(handover.source)
    with handover.timed("land"):
        for _ in range(_MOST_TRIES):
            try:
                handover.landing = _land_once(context, source)
                return
            except Overtaken as overtaken:
                say(str(overtaken))
        raise StorageError(f"{source.name}: {_MOST_TRIES} landings were all overtaken by others; try again")


def _land_once(context: Context, source: Source) -> int:
    """The number of the last landing once this one, if there was anything to land, is sealed."""
    lake = context.lake
    journal = lake.ledger.journal(source.name, source.clock)
    after = journal[-1].revision if journal else 0
    new, unreadable = _new_files(context, source, [seal.write for seal in journal])
    fresh = [file for file in new if not file.same_as]
    refused = dict(unreadable)
    known_refusals = _refusals(context, source)
    write = new_write("land")
    tally = Tally(Counter(), Counter())
    while fresh:
        tally, faults = _land_files(context, source, fresh, write)
        if not faults:
            break
        # What was appended under this write stays unnamed: it does not exist.
        refused |= faults
        fresh = [file for file in fresh if file.path not in faults]
        write = new_write("land")
    landed = [*fresh, *(file for file in new if file.same_as and file.same_as not in refused)]
    for path, reason in sorted(refused.items()):
        say(f"{path} is left where it is: {reason}", style="red")
    news = dict(refused.items() - known_refusals)
    _record_refusals(context, source, news, write)
    if landed:
        late = _late_epochs(context, source, tally)
        lake.append(LANDINGS, [_landing_row(source, file, tally, late, write) for file in landed])
        counts: dict[int, dict[str, int]] = {}
        for (_, epoch_start), rows in tally.landed.items():
            counts.setdefault(epoch_start, {"landed": 0})["landed"] += rows
        lake.ledger.seal_landing(source.name, source.clock, after, write, counts)
        _tell(source, landed, tally, late)
        return after + 1
    if news:
        # Of a file that was refused before, people know: it holds up no epoch twice.
        path, reason = min(news.items())
        raise DataError(f"no file of {source.name} could be landed; {path}: {reason}")
    return after


def _new_files(context: Context, source: Source, writes: list[str]) -> tuple[list[NewFile], dict[str, str]]:
    """The files to look at, and those that cannot even be digested, with the reason."""
    columns = ["path", "digest", "bytes", "modified", "write"]
    known = context.lake.sites.read(LANDINGS, [("source", "=", source.name)], columns)
    known = known.filter(pc.is_in(known["write"], pa.array(writes, pa.string())))
    seen = set(zip(*(column_list(known, name) for name in ("path", "bytes", "modified")), strict=True))
    by_digest = dict(zip(column_list(known, "digest"), column_list(known, "path"), strict=True))
    found = [
        file for file in files.find(source.path, context.home)
        if (file.path, file.size, file.modified) not in seen
    ]  # fmt: skip
    unreadable: dict[str, str] = {}

    def digest(file: files.FoundFile) -> str | None:
        try:
            return files.digest(file.path)
        except DataError as error:
            unreadable[file.path] = str(error)
            return None

    with ThreadPoolExecutor(_HASHERS) as pool:
        digests = list(pool.map(digest, found))
    new = []
    for file, value in zip(found, digests, strict=True):
        if value is not None:
            new.append(NewFile(file.path, file.size, file.modified, value, by_digest.get(value, "")))
            by_digest.setdefault(value, file.path)
    return new, unreadable


def _land_files(context: Context, source: Source, new: list[NewFile], write: str) -> tuple[Tally, dict[str, str]]:
    """Appends events and quarantine under `write`. Files that cannot be read whole come back with the reason."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    tables = context.lake.site_tables
    listed = pa.table({name: [getattr(file, name) for file in new] for name in ("path", "size", "modified", "digest")})
    latest = int(time.time() * 1_000_000) + source.skew
    parsed: DataFrame = (
        tables.spark.createDataFrame(listed)
        .repartition(min(len(new), tables.parallelism))
        .mapInArrow(LandFiles(source, write, latest), PARSED_DDL)
    )
    seen = Observation(write)
    counted = parsed.observe(
        seen, F.count(F.lit(1)).alias("read"), F.count(F.when(F.col("line") == FILE_FAULT, 1)).alias("faulty")
    )
    tables.append(EVENTS, counted.where(F.col("reason").isNull()))
    if seen.get["faulty"]:
        bad = parsed.where(F.col("line") == FILE_FAULT).select("path", "reason").collect()
        return Tally(Counter(), Counter()), {row["path"]: row["reason"] for row in bad}
    landed = context.lake.sites.count(EVENTS, ["digest", "epoch_start"], [("write", "=", write)])
    quarantined: Counter[tuple[Any, ...]] = Counter()
    if sum(landed.values()) < seen.get["read"]:
        aside = parsed.where(F.col("reason").isNotNull()).withColumn("day", F.current_date())
        tables.append(QUARANTINE, aside)
        quarantined = context.lake.sites.count(QUARANTINE, ["digest"], [("write", "=", write)])
    if sum(landed.values()) + sum(quarantined.values()) != seen.get["read"]:
        raise StorageError(
            f"{source.name}: {seen.get['read']} rows were read, {sum(landed.values())} landed and"
            f" {sum(quarantined.values())} were set aside: the files changed while they were read; try again"
        )
    return Tally(landed, quarantined), {}


def _late_epochs(context: Context, source: Source, tally: Tally) -> set[int]:
    """The epochs that this landing reaches although a monitor has sealed them."""
    epochs = {epoch_start for _, epoch_start in tally.landed}
    if not epochs:
        return set()
    return epochs & {
        seal.epoch_start
        for monitor in context.config.monitors_of(source.name)
        for seal in context.lake.ledger.seals(source.name, monitor.name, min(epochs), max(epochs) + 1)
    }


def _landing_row(source: Source, file: NewFile, tally: Tally, late: set[int], write: str) -> dict[str, Any]:
    by_epoch = {epoch: rows for (digest, epoch), rows in tally.landed.items() if digest == file.digest}
    landed = 0 if file.same_as else sum(by_epoch.values())
    quarantined = 0 if file.same_as else tally.quarantined[(file.digest,)]
    note = f"same content as {file.same_as}" if file.same_as else ("" if landed + quarantined else "no rows")
    return {
        "source": source.name, "path": file.path, "digest": file.digest, "bytes": file.size,
        "modified": to_datetime(file.modified), "read": landed + quarantined, "landed": landed,
        "quarantined": quarantined,
        "late": 0 if file.same_as else sum(rows for epoch, rows in by_epoch.items() if epoch in late),
        "note": note, "landed_at": datetime.now(UTC), "write": write,
    }  # fmt: skip


def _refusals(context: Context, source: Source) -> set[tuple[str, str]]:
    """The files that were left outside before, each with the reason."""
    rows = context.lake.centre.read(
        VALIDATIONS, [("source", "=", source.name), ("step", "=", "land")], ["observed", "detail"]
    )
    return set(zip(rows["observed"].to_pylist(), rows["detail"].to_pylist(), strict=True))


def _record_refusals(context: Context, source: Source, refused: dict[str, str], write: str) -> None:
    """A finding for each file that stays outside, so that the alert names it."""
    if not refused:
        return
    context.lake.append(
        VALIDATIONS,
        [
            {
                "source": source.name, "monitor": "", "epoch_start": to_datetime(source.origin), "step": "land",
                "expectation": "file can be read", "site": "", "severity": "critical", "success": False,
                "observed": path, "detail": reason, "checked_at": datetime.now(UTC), "write": write,
            }
            for path, reason in sorted(refused.items())
        ],
    )  # fmt: skip


def _tell(source: Source, landed: Iterable[NewFile], tally: Tally, late: set[int]) -> None:
    rows, aside = sum(tally.landed.values()), sum(tally.quarantined.values())
    say(f"{source.name}: {len(list(landed))} new files, {rows} rows landed, {aside} set aside")
    if late:
        late_rows = sum(count for (_, epoch), count in tally.landed.items() if epoch in late)
        first = to_datetime(min(late))
        say(
            f"{late_rows} rows belong to {len(late)} sealed epochs, from {first:%Y-%m-%dT%H:%MZ} on;"
            f" `farwatch run --source {source.name} --from {first:%Y-%m-%dT%H:%MZ} --to … --revise 'late rows'`"
            " takes them in",
            style="yellow",
        )
