"""What landing costs: `python -m benchmarks.landing [--events 1M] [--rounds 2] [--write]`.

Lands the same files that Spark copies into a Delta table partitioned alike, in turn, on one warm Connect server:
Parquet, the same by reference, and CSV packed by gzip (a fifth of the events). Prints the medians of the rounds'
ratios, by the clock and of processor time; ends with 1 where one by the clock is above its limit. `--write` puts them
into docs/speed.md.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from benchmarks._deployment import deployment
from benchmarks.kernels import written
from benchmarks.scale import parse_count
from benchmarks.summarise import processor_time
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.verbs.land import land

SITES, ITEMS, FILES = 16, 1_000_000, 8
DAY = 86_400_000_000
ORIGIN = 1_577_836_800_000_000
PAGE = Path(__file__).resolve().parents[1] / "docs" / "speed.md"
SOURCE = {"epoch": "1h", "origin": "2020-01-01", "columns": {"time": "time", "site": "site", "item": "item"}}
SCHEMA = "time timestamp, site string, item string"


@dataclass(frozen=True)
class Case:
    """One way to land: the keys of its source, one of how many events it lands, and the most that it may cost."""

    name: str
    keys: dict[str, str]
    one_of: int
    at_most: float


CASES = (
    Case("Parquet", {"format": "parquet", "path": "data/*.parquet"}, 1, 2.0),
    Case("Parquet, by reference", {"format": "parquet", "path": "data/*.parquet", "land": "reference"}, 1, 0.5),
    Case("csv.gz", {"format": "csv", "path": "data/*.csv.gz"}, 5, 2.0),
)


def events(count: int, seed: int) -> pa.Table:
    """A day of events of a Zipf distribution, in order of time."""
    draw = np.random.default_rng(seed)
    sites = pa.array([f"site {number:02}" for number in range(SITES)])
    items = (draw.zipf(1.2, count) - 1) % ITEMS
    return pa.table(
        {
            "time": pa.array(ORIGIN + np.sort(draw.integers(0, DAY, count)), pa.timestamp("us", "UTC")),
            "site": sites.take(pa.array(draw.integers(0, SITES, count))),
            "item": pa.array(np.char.add("/asset/", items.astype(str))),
        }
    )


def write_files(folder: Path, count: int) -> None:
    for number in range(FILES):
        pq.write_table(events(count // FILES, number), folder / f"{number}.parquet")
        rows, text = events(count // FILES // 5, number), io.BytesIO()
        arrow_csv.write_csv(rows, text)
        (folder / f"{number}.csv.gz").write_bytes(gzip.compress(text.getvalue(), 6))


def spark_copy(context: Context, case: Case, place: str) -> None:
    """The files as Spark reads them, into a Delta table partitioned by day."""
    from pyspark.sql import functions as F

    pattern = str(context.home / case.keys["path"])
    reader = context.session.read.schema(SCHEMA)
    rows = reader.parquet(pattern) if case.keys["format"] == "parquet" else reader.option("header", True).csv(pattern)
    rows.withColumn("day", F.to_date("time")).write.format("delta").partitionBy("day").save(place)


def ours(context: Context, name: str) -> None:
    clock = context.config.source(name).clock
    land(context, Handover(name, clock.origin, clock.origin))


def seconds(work: Callable[[], None]) -> tuple[float, float]:
    """By the clock, and of processor time."""
    begun, used = time.perf_counter(), processor_time()
    work()
    return time.perf_counter() - begun, processor_time() - used


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--events", type=parse_count, default=1_000_000, help="rows of Parquet, such as 10M")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="one of: " + ", ".join(case.name for case in CASES))
    parser.add_argument("--write", action="store_true", help="put the figures into docs/speed.md")
    given = parser.parse_args()
    if given.write and given.only:
        parser.error("--write: the page takes the whole table; leave --only out")
    cases = [case for case in CASES if given.only in ("", case.name)]
    sources = [
        SOURCE | case.keys | {"name": f"{at}-{number}"}
        for at, case in enumerate(cases)
        for number in range(given.rounds + 1)
    ]
    figures = []
    with deployment(sources, []) as context:
        write_files(context.home / "data", given.events)
        for at, case in enumerate(cases):
            taken = []
            for number in range(given.rounds + 1):
                copied = seconds(lambda: spark_copy(context, case, str(context.home / f"copy-{at}-{number}")))  # noqa: B023
                landed = seconds(lambda: ours(context, f"{at}-{number}"))  # noqa: B023
                ratios = landed[0] / copied[0], landed[1] / copied[1]
                print(
                    f"{case.name}: Spark {copied[0]:.2f} s, landed in {landed[0]:.2f} s: {ratios[0]:.2f};"
                    f" of processor time {copied[1]:.2f} and {landed[1]:.2f} s: {ratios[1]:.2f}",
                    flush=True,
                )
                taken.append(ratios)
            clock, processor = (median(column) for column in zip(*taken[1:], strict=True))
            figures.append((case, clock, processor))
    lines = ["| landing | rows | at most | times Spark's copy | of processor time |", "|---|---:|---:|---:|---:|"]
    for case, clock, processor in figures:
        rows = f"{given.events // case.one_of:,}"
        lines.append(f"| {case.name} | {rows} | {case.at_most} | {clock:.1f} | {processor:.1f} |")
    print("\n".join(lines))
    if given.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "landing", "\n".join(lines)), encoding="utf-8")
    return int(any(clock > case.at_most for case, clock, _ in figures))


if __name__ == "__main__":
    sys.exit(main())
