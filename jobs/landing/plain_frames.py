"""Frames over Parquet files and versions of Delta tables as Spark's own reader gives them: rows stay in Java."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.input.files import FoundFile
from jobs.input.plain import PlainTable
from jobs.lake.site_tables import SiteTables, to_frame
from jobs.landing.filing import FILED_DDL, AcceptedTimes
from jobs.landing.tasks import ReadLines
from jobs.spark.plain_rows import PlainRows, quoted
from monitoring_lib.config import Source
from monitoring_lib.tables import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file that Spark is to read, by its `number` among others: what it is, and the landing that brought it."""

    number: int
    found: FoundFile
    digest: str
    table: PlainTable
    taken: AcceptedTimes
    write: str


def events_of(tables: SiteTables, source: Source, files: Sequence[PlainFile]) -> DataFrame:
    """The plain rows as rows of `events`."""
    from pyspark.sql import functions as F

    return _together(
        rows.where(plain.plain)
        .select(*(column.alias(name) for name, column in plain.columns().items()), "digest", "line", "write")
        .withColumn("source", F.lit(source.name))
        .select(*EVENTS.columns)
        for plain, rows in _read(tables, source, files)
    )


def others_of(tables: SiteTables, source: Source, files: Sequence[PlainFile]) -> DataFrame:
    """The rows of one landing's files that are not plain, filed."""
    from pyspark.sql import functions as F

    lines = _together(
        rows.where(~plain.plain).select("number", "digest", "line") for plain, rows in _read(tables, source, files)
    )
    paths = pa.table({"number": [file.number for file in files], "path": [file.found.path for file in files]})
    named = lines.join(F.broadcast(to_frame(tables.spark, paths)), "number")
    spread = named.repartition(min(len(files), tables.parallelism), "number").sortWithinPartitions("number", "line")
    return spread.mapInArrow(ReadLines(source, files[0].taken), FILED_DDL)


def _read(tables: SiteTables, source: Source, files: Sequence[PlainFile]) -> Iterable[tuple[PlainRows, DataFrame]]:
    """Files that are read alike together: how their rows are read, and those as the files have them."""
    alike: dict[tuple[AcceptedTimes, tuple[tuple[str, str], ...]], list[PlainFile]] = {}
    for file in files:
        alike.setdefault((file.taken, tuple(sorted(file.table.columns.items()))), []).append(file)
    for (taken, columns), found in alike.items():
        kinds = dict(columns)
        yield PlainRows(source, kinds, _first(source, taken), taken.latest), _frame(tables, kinds, found)


def _first(source: Source, taken: AcceptedTimes) -> int:
    """The start of the first epoch whose rows are taken."""
    clock = source.clock
    if taken.earliest is None or taken.earliest <= clock.origin:
        return clock.origin
    return clock.origin - (clock.origin - taken.earliest) // clock.length * clock.length


def _frame(tables: SiteTables, kinds: Mapping[str, str], files: Sequence[PlainFile]) -> DataFrame:
    """The `row` of data files, with the `number`, `digest` and `write` of its file, and its `line`."""
    from pyspark.sql import functions as F

    parts = [(file, part) for file in files for part in file.table.files]
    named = [(url, file, part) for file, part in parts for url in _urls(part.path)]
    parted = sorted({name for _, part in parts for name in part.parts} & kinds.keys())
    inside = [name for name in kinds if name not in parted]
    listed = {
        "url": [url for url, _, _ in named], "number": [file.number for _, file, _ in named],
        "digest": [file.digest for _, file, _ in named], "write": [file.write for _, file, _ in named],
        "before": [part.before for _, _, part in named],
    } | {
        f"part {at}": pa.array([part.parts.get(name) for _, _, part in named], pa.string())
        for at, name in enumerate(parted)
    }  # fmt: skip
    schema = ", ".join(f"{quoted(name)} {kinds[name]}" for name in inside)
    rows = tables.spark.read.schema(schema).parquet(*(part.path for _, part in parts)).select(
        F.struct(*(F.col(quoted(name)) for name in inside)).alias("row"),
        F.col("_metadata.file_path").alias("url"), F.col("_metadata.row_index").alias("index"),
    )  # fmt: skip
    found = rows.join(F.broadcast(to_frame(tables.spark, pa.table(listed))), "url")
    cells = [F.col(f"row.{quoted(name)}").alias(name) for name in inside]
    cells += [F.col(f"`part {at}`").alias(name) for at, name in enumerate(parted)]
    line = F.col("before") + F.col("index") + F.lit(1)
    return found.select(F.struct(*cells).alias("row"), "number", "digest", "write", line.alias("line"))


def _together(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)


def _urls(path: str) -> list[str]:
    """A path as Spark's reader may name it; only paths without anything to escape come here."""
    return [path] if "://" in path else [f"file:{path}", f"file://{path}"]
