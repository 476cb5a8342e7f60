"""Lands Parquet files and versions of Delta tables through Spark's own reader: their rows stay in the Java machine.

Rows that are not plain to read, faulty ones above all, are read again by `jobs.input.reading`: they alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.input.files import FoundFile, is_as_found
from jobs.input.plain import PlainTable
from jobs.lake.site_tables import SiteTables, to_frame
from jobs.landing.filing import FILED_DDL, AcceptedTimes
from jobs.landing.tasks import ReadLines
from jobs.landing.writing import LandedRows, given, tally_of
from jobs.spark.plain_rows import PlainRows, quoted
from monitoring_lib.config import Source
from monitoring_lib.errors import FarwatchError, StorageError
from monitoring_lib.tables import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file of a landing, by its `number` in it, that Spark is to read."""

    number: int
    found: FoundFile
    digest: str
    table: PlainTable


class UnreadBySparkError(Exception):
    """Spark's reader has failed; it does not tell files apart."""


@dataclass
class PlainFiles:
    """The files of a landing that Spark reads by itself, and by digest what has `landed` of them that way."""

    tables: SiteTables
    source: Source
    taken: AcceptedTimes
    files: Sequence[PlainFile]
    landed: Mapping[str, Counter[int]] = field(default_factory=dict)
    _others: DataFrame | None = None

    def land(self, write: str) -> LandedRows:
        """Appends their plain rows as events, and files the others; tells what became of each row."""
        from pyspark.errors import PySparkException

        found = LandedRows()
        if not self.files:
            return found
        try:
            self.landed = self._write_events(write)
            rows = {file.digest: file.table.records for file in self.files}
            lacking = [digest for digest in rows if self.landed[digest].total() < rows[digest]]
            if lacking:
                self._others = self._filed(lacking).persist()
                found = tally_of(self._others)
        except (FarwatchError, PySparkException) as error:
            raise UnreadBySparkError(str(error.__cause__ or error).splitlines()[0]) from error
        for digest, epochs in self.landed.items():
            found.add(digest, epochs, {})
        self._refuse_changed(found)
        return found

    def with_others(self, filed: DataFrame) -> DataFrame:
        """Filed rows, with those of these files that are not plain."""
        return filed if self._others is None else filed.unionAll(self._others)

    def leave(self) -> None:
        """Frees what is kept in memory."""
        if self._others is not None:
            self._others.unpersist()

    def _refuse_changed(self, found: LandedRows) -> None:
        """What is written is under no seal yet: the next try begins anew."""
        for file in self.files:
            rows = found.landed[file.digest].total() + found.quarantined[file.digest].total()
            if rows != file.table.records or not is_as_found(file.found):
                raise StorageError(
                    f"{file.found.path}: changed while it was landed ({rows} rows were read where it had"
                    f" {file.table.records}); move files into place when they are complete, then try again"
                )

    def _write_events(self, write: str) -> dict[str, Counter[int]]:
        """Appends their plain rows as events; tells by digest how many there are of each epoch."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation()
        start = F.unix_micros("epoch_start")
        rows = self._events(write).observe(seen, F.min(start).alias("first"), F.max(start).alias("last"))
        self.tables.append(EVENTS, rows)
        first, last = seen.get["first"], seen.get["last"]
        landed: dict[str, Counter[int]] = {file.digest: Counter() for file in self.files}
        if first is None:
            return landed
        # What was written is counted in the table itself: two narrow columns of the days that it reaches.
        written = self.tables.read(EVENTS).where(
            F.col("day").between(_day(first), _day(last))
            & F.col("epoch_start").between(F.timestamp_micros(F.lit(first)), F.timestamp_micros(F.lit(last)))
            & (F.col("write") == write)
        )
        for digest, epoch, count in written.groupBy("digest", start).count().collect():
            landed[digest][epoch] += count
        return landed

    def _events(self, write: str) -> DataFrame:
        """The plain rows as rows of `events`."""
        return _together(
            given(
                rows.where(plain.plain).select(
                    *(column.alias(name) for name, column in plain.columns().items()),
                    "digest", "line",
                ),
                self.source, write,
            ).select(*EVENTS.columns)
            for plain, rows in self._read(self.files)
        )  # fmt: skip

    def _filed(self, digests: Collection[str]) -> DataFrame:
        """The rows of these files that are not plain, filed."""
        from pyspark.sql import functions as F

        files = [file for file in self.files if file.digest in digests]
        lines = _together(
            rows.where(~plain.plain).select("number", "digest", "line") for plain, rows in self._read(files)
        )
        paths = pa.table({"number": [file.number for file in files], "path": [file.found.path for file in files]})
        named = lines.join(F.broadcast(to_frame(self.tables.spark, paths)), "number")
        spread = named.repartition(min(len(files), self.tables.parallelism), "number")
        return spread.sortWithinPartitions("number", "line").mapInArrow(ReadLines(self.source, self.taken), FILED_DDL)

    def _read(self, files: Sequence[PlainFile]) -> Iterable[tuple[PlainRows, DataFrame]]:
        """Files with the same columns together: how their rows are read, and those as the files have them."""
        origin, clock = self.source.origin, self.source.clock
        earliest = origin
        if self.taken.earliest is not None and self.taken.earliest > origin:
            earliest = clock.origin - (clock.origin - self.taken.earliest) // clock.length * clock.length
        alike: dict[tuple[tuple[str, str], ...], list[PlainFile]] = {}
        for file in files:
            alike.setdefault(tuple(sorted(file.table.columns.items())), []).append(file)
        for columns, found in sorted(alike.items(), key=lambda one: one[0]):
            kinds = dict(columns)
            yield PlainRows(self.source, kinds, earliest, self.taken.latest), self._frame(kinds, found)

    def _frame(self, kinds: Mapping[str, str], files: Sequence[PlainFile]) -> DataFrame:
        """The `row` of data files, with the `number` and `digest` of its file and its `line`."""
        from pyspark.sql import functions as F

        parts = [(file, part) for file in files for part in file.table.files]
        named = [(url, file, part) for file, part in parts for url in _urls(part.path)]
        parted = sorted({name for _, part in parts for name in part.parts} & kinds.keys())
        inside = [name for name in kinds if name not in parted]
        listed = {
            "url": [url for url, _, _ in named], "number": [file.number for _, file, _ in named],
            "digest": [file.digest for _, file, _ in named], "before": [part.before for _, _, part in named],
        } | {
            f"part {at}": pa.array([part.parts.get(name) for _, _, part in named], pa.string())
            for at, name in enumerate(parted)
        }  # fmt: skip
        schema = ", ".join(f"{quoted(name)} {kinds[name]}" for name in inside)
        rows = self.tables.spark.read.schema(schema).parquet(*(part.path for _, part in parts)).select(
            F.struct(*(F.col(quoted(name)) for name in inside)).alias("row"),
            F.col("_metadata.file_path").alias("url"), F.col("_metadata.row_index").alias("index"),
        )  # fmt: skip
        found = rows.join(F.broadcast(to_frame(self.tables.spark, pa.table(listed))), "url")
        cells = [F.col(f"row.{quoted(name)}").alias(name) for name in inside]
        cells += [F.col(f"`part {at}`").alias(name) for at, name in enumerate(parted)]
        line = F.col("before") + F.col("index") + F.lit(1)
        return found.select(F.struct(*cells).alias("row"), "number", "digest", line.alias("line"))


def _together(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)


def _urls(path: str) -> list[str]:
    """A path as Spark's reader may name it; only paths without anything to escape come here."""
    return [path] if "://" in path else [f"file:{path}", f"file://{path}"]


def _day(micros: int) -> Column:
    from pyspark.sql import functions as F

    return F.date_from_unix_date(F.lit(micros // 86_400_000_000))
