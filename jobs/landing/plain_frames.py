"""Frames over Parquet files and versions of Delta tables as Spark's own reader gives them: rows stay in Java."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.input.files import FoundFile
from jobs.input.plain import DataFile, PlainTable
from jobs.lake.site_tables import SiteTables, to_frame
from jobs.landing.filing import FILED_DDL, AcceptedTimes
from jobs.landing.tasks import ReadLines
from jobs.spark.plain_rows import PlainRows, quoted
from monitoring_lib.config import Source
from monitoring_lib.errors import DataError
from monitoring_lib.hashing import SPARK_SEED, hash_strings
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


def counts_of(tables: SiteTables, source: Source, files: Sequence[PlainFile]) -> dict[str, Counter[int]]:
    """By digest how many plain rows there are of each epoch: they are counted by file, before they are told whose."""
    from pyspark.sql import functions as F

    named, digests = _data_files(files), dict[int, list[str]]()
    for (file, _, _), url in zip(named, _hashed([url for _, _, url in named]).tolist(), strict=True):
        digests.setdefault(url, []).append(file.digest)
    found: dict[str, Counter[int]] = {file.digest: Counter() for file in files}
    for plain, rows in _read(tables, source, files, named=False):
        starts = F.unix_micros(plain.columns()["epoch_start"])
        for url, start, count in rows.where(plain.plain).groupBy("url", starts).count().collect():
            for digest in digests.get(url, ()):  # a file that nobody listed counts for none: the sums do not agree
                found[digest][start] += count
    return found


def _read(
    tables: SiteTables, source: Source, files: Sequence[PlainFile], *, named: bool = True
) -> Iterable[tuple[PlainRows, DataFrame]]:  # fmt: skip
    """Files that are read alike together: how their rows are read, and those as the files have them."""
    alike: dict[tuple[AcceptedTimes, tuple[tuple[str, str], ...]], list[PlainFile]] = {}
    for file in files:
        alike.setdefault((file.taken, tuple(sorted(file.table.columns.items()))), []).append(file)
    for (taken, columns), found in alike.items():
        kinds = dict(columns)
        frame = (_named if named else _unnamed)(tables, kinds, found)
        yield PlainRows(source, kinds, _first(source, taken), taken.latest), frame


def _first(source: Source, taken: AcceptedTimes) -> int:
    """The start of the first epoch whose rows are taken."""
    clock = source.clock
    if taken.earliest is None or taken.earliest <= clock.origin:
        return clock.origin
    return clock.origin - (clock.origin - taken.earliest) // clock.length * clock.length


def _named(tables: SiteTables, kinds: Mapping[str, str], files: Sequence[PlainFile]) -> DataFrame:
    """The `row` of data files, with the `number`, `digest` and `write` of its file, and its `line`."""
    from pyspark.sql import functions as F

    named = _data_files(files)
    listed = {
        "number": [file.number for file, _, _ in named], "digest": [file.digest for file, _, _ in named],
        "write": [file.write for file, _, _ in named], "before": [part.before for _, part, _ in named],
    }  # fmt: skip
    found = _joined(tables, kinds, named, listed)
    line = F.col("before") + F.col("index") + F.lit(1)
    return found.select("row", "number", "digest", "write", line.alias("line"))


def _unnamed(tables: SiteTables, kinds: Mapping[str, str], files: Sequence[PlainFile]) -> DataFrame:
    """The `row` of data files, with the hash of its file's `url`; each once, whoever's it is."""
    once = {url: (file, part, url) for file, part, url in _data_files(files)}
    return _joined(tables, kinds, list(once.values()), {})


def _data_files(files: Sequence[PlainFile]) -> list[tuple[PlainFile, DataFile, str]]:
    """Under each name that Spark's reader may give them."""
    return [(file, part, url) for file in files for part in file.table.files for url in _urls(part.path)]


def _joined(
    tables: SiteTables, kinds: Mapping[str, str], named: Sequence[tuple[PlainFile, DataFile, str]],
    listed: Mapping[str, Any],
) -> DataFrame:  # fmt: skip
    """The `row`, `url` and `index` of data files, with what is `listed` of each and its partition's values."""
    from pyspark.sql import functions as F

    parted = sorted({name for _, part, _ in named for name in part.parts} & kinds.keys())
    inside = [name for name in kinds if name not in parted]
    schema = ", ".join(f"{quoted(name)} {kinds[name]}" for name in inside)
    rows = tables.spark.read.schema(schema).parquet(*dict.fromkeys(part.path for _, part, _ in named)).select(
        F.struct(*(F.col(quoted(name)) for name in inside)).alias("row"),
        F.xxhash64("_metadata.file_path").alias("url"), F.col("_metadata.row_index").alias("index"),
    )  # fmt: skip
    beside = dict(listed) | {
        f"part {at}": pa.array([part.parts.get(name) for _, part, _ in named], pa.string())
        for at, name in enumerate(parted)
    }
    if not beside:
        return rows
    beside["url"] = _hashed([url for _, _, url in named])
    found = rows.join(F.broadcast(to_frame(tables.spark, pa.table(beside))), "url")
    cells = [F.col(f"row.{quoted(name)}").alias(name) for name in inside]
    cells += [F.col(f"`part {at}`").alias(name) for at, name in enumerate(parted)]
    return found.withColumn("row", F.struct(*cells))


def _together(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)


def _hashed(urls: Sequence[str]) -> NDArray[np.int64]:
    """Of each its hash as Spark has it: rows meet their file by a number several times as fast as by a text."""
    found = hash_strings(pa.array(urls, pa.string()), SPARK_SEED).view(np.int64)
    if len(np.unique(found)) < len(set(urls)):
        raise DataError("two paths have the same hash")
    return found


def _urls(path: str) -> list[str]:
    """A path as Spark's reader may name it; only paths without anything to escape come here."""
    return [path] if "://" in path else [f"file:{path}", f"file://{path}"]
