"""Tables that Spark's own reader lands: the same rows, faults and counts as reading them file by file gives."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.input import files
from jobs.input.plain import plain_table
from jobs.input.reading import needed_columns
from jobs.landing.filing import AcceptedTimes
from jobs.landing.plain_frames import PlainFile, counts_of, events_of, others_of
from jobs.landing.tasks import LandFiles
from jobs.verbs.land import land
from monitoring_lib.config import Source
from monitoring_lib.epochs import parse_time, to_microseconds
from monitoring_lib.tables import EVENTS, LANDINGS, QUARANTINE
from tests.jobs.landing.test_tasks import landed, source
from tests.jobs.pipeline.deployment import ONE_PARTITION, SOURCE, Deployment

FROM = datetime(2020, 1, 1, tzinfo=UTC)
TIMES = [FROM + timedelta(minutes=7 * at) for at in range(40)]
COLUMNS = {"time": "time", "site": "site", "item": "item", "value": "value"}
TAKEN = AcceptedTimes(parse_time("2020-01-01T00:30:00"), parse_time("2020-01-01T04:00:00"))
SPELT = [
    "2020-01-01T01:02:03Z", "2020-01-01 01:02:03.25", "2020-01-01T01:02:03+02:00", "2020-01-01", "20200101T010203",
    "1577840523", "1577840523.1234567", " 2020-01-01T01:02:03Z", "2020-01-01T01:02", "2020-02-30T00:00:00", "noon",
    "", None, "2020-01-01T25:00:00Z", "2020-01-01T01:02:03+99:00", "9" * 30, "2020-01-01T01:02:03\n",
    "2020-01-01T01:02:03.123456789Z", "-5", "2020-01-01T24:00:00Z",
]  # fmt: skip
NUMBERS = [
    "1",
    "-2.50",
    "+3",
    "1e2",
    "0.001",
    "",
    None,
    "nan",
    "12345678901234567890",
    "9" * 18,
    " 7 ",
    "0x1",
    "1.",
    ".5",
]


def cycled(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(list(itertools.islice(itertools.cycle(values), len(TIMES))), kind)


def table(**columns: pa.Array) -> pa.Table:
    plain = {
        "time": pa.array(TIMES, pa.timestamp("us", "UTC")), "site": cycled(["a", "ö /", "", None], pa.string()),
        "item": cycled(["x", "y", "z"], pa.string()), "value": cycled([1, None, -3], pa.int64()),
    }  # fmt: skip
    return pa.table(plain | columns)


def doubles(kind: pa.DataType) -> pa.Array:
    return cycled([1.25, -0.0, float("nan"), float("inf"), 1e300, 0.1, 1 / 3, None, 4503599627370497.5, 2.5e15], kind)


CASES: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "times and numbers as texts": (
        table(time=cycled(SPELT, pa.string()), value=cycled(NUMBERS, pa.string())), {"scale": 100}),
    "texts of another zone, doubles": (
        table(time=cycled(SPELT, pa.string()), value=doubles(pa.float64())), {"time_zone": "Asia/Tokyo", "scale": 100}),
    "milliseconds as numbers, floats": (
        table(
            time=cycled([1577840523000, 0, -1, 2**62, None, 1577840523123], pa.int64()),
            value=doubles(pa.float32()), site=cycled([7, None], pa.int16()), item=cycled([True, False], pa.bool_()),
        ), {"time_format": "milliseconds"}),
    "seconds as doubles, decimals, bytes": (
        table(
            time=cycled([1577840523.123456, float("nan"), None, 1e300, 1577840524.5], pa.float64()),
            value=cycled([Decimal("6.95"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
            item=cycled([b"\xff", "é".encode(), b""], pa.binary()),
        ), {"scale": 100}),
    "clock times, fields and further values": (
        table(
            time=pa.array([time.replace(tzinfo=None) for time in TIMES], pa.timestamp("ms")),
            note=cycled(["n", "", None], pa.string()), more=cycled([2**62, 5, None], pa.int64()),
        ),
        {
            "columns": COLUMNS | {"item": "lower(concat(site, item))", "note": "note"},
            "values": {"more": "more"}, "scale": 4,
        }),
    "days": (table(time=cycled([date(2020, 1, 1), None, date(1, 1, 1)], pa.date32())), {"late": {}}),
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, spark_remote: str) -> Deployment:
    keys = {"format": "parquet", "path": "data/*.parquet"}
    return Deployment(tmp_path / "home", SOURCE | keys, (), ONE_PARTITION)


def by_spark(context: Context, about: Source, path: str) -> list[dict[str, Any]]:
    """The rows as Spark's reader and, for those that are not plain, the tasks file them; the former, counted alone."""
    plain = plain_table(path, about, needed_columns(about), "/")
    assert plain is not None
    file = PlainFile(0, files.FoundFile(path, 0, 0), "d", plain, TAKEN, "w")
    tables = context.lake.site_tables
    good = events_of(tables, about, [file]).drop("source", "write").toArrow().to_pylist()
    assert counts_of(tables, about, [file]) == {"d": Counter(to_microseconds(row["epoch_start"]) for row in good)}
    return [*good, *others_of(tables, about, [file]).toArrow().to_pylist()]


def comparable(rows: list[dict[str, Any]]) -> list[Any]:
    names = [name for name in EVENTS.columns if name not in ("source", "digest", "write")]
    names += ["reason", "kind", "fault_value", "raw"]
    good = [{name: row.get(name) for name in names} for row in rows]
    for row in good:
        row |= {name: row[name] and sorted(dict(row[name]).items()) for name in ("fields", "values")}
    return sorted(good, key=lambda row: row["line"])


@pytest.mark.spark
def test_spark_and_the_tasks_read_alike(home, tmp_path):
    context = home.context()
    for number, (name, (rows, keys)) in enumerate(CASES.items()):
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(rows, path)
        about = source(**{"format": "parquet", "columns": COLUMNS, "late": {"horizon": "1h"}} | keys)
        expected, _ = landed(LandFiles(about, TAKEN, frozenset(), (), "refuse"), path)
        assert comparable(by_spark(context, about, str(path))) == comparable(expected), name
        assert {row["reason"] is None for row in expected} == {True, False}, name


@pytest.mark.spark
def test_files_land_by_spark_as_they_do_one_by_one(home, capsys):
    data = home.home / "data"
    parquet.write_table(table(), data / "a.parquet", row_group_size=11)
    parquet.write_table(table(), data / "same.parquet", row_group_size=11)
    parquet.write_table(table(site=cycled(["s"], pa.string())), data / "clean.parquet")
    parquet.write_table(table(site=cycled([None], pa.string())), data / "hopeless.parquet")
    parquet.write_table(table().rename_columns(["time", "sight", "item", "value"]), data / "column.parquet")
    parquet.write_table(table(time=pa.array(TIMES, pa.timestamp("ns", "UTC"))), data / "ns.parquet")
    whole = (data / "clean.parquet").read_bytes()
    (data / "cut.parquet").write_bytes(whole[:-30])
    land(home.context(), Handover("shop", 0, 0))
    assert "one by one" not in capsys.readouterr().err
    assert {Path(row["path"]).stem: (row["landed"], row["quarantined"]) for row in home.rows(LANDINGS)} == {
        "a": (20, 20), "same": (0, 0), "clean": (40, 0), "ns": (20, 20),
    }  # fmt: skip
    # A page that cannot be read fails Spark's job as a whole: only its own file is left out.
    other = Deployment(home.home.parent / "other", home.source, (), ONE_PARTITION)
    for path in data.iterdir():
        (other.home / "data" / path.name).write_bytes(path.read_bytes())
    (other.home / "data" / "damaged.parquet").write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    land(other.context(), Handover("shop", 0, 0))
    assert "one by one" in capsys.readouterr().err
    assert not [row for row in other.rows(LANDINGS) if row["path"].endswith("damaged.parquet")]
    assert other.content(EVENTS) == home.content(EVENTS)
    assert len(other.rows(QUARANTINE)) == len(home.rows(QUARANTINE)) == 40


@pytest.mark.spark
def test_versions_of_a_delta_table_land_by_spark(home, tmp_path):
    day = cycled(["m", "n"], pa.string())
    place = tmp_path / "table"
    write_deltalake(place, table(day=day), partition_by=["day"])
    write_deltalake(place, table(day=day, item=cycled(["last"], pa.string())), mode="append")
    keys = {"format": "delta", "columns": COLUMNS | {"day": "day"}}
    about = source(**keys)
    expected, _ = landed(LandFiles(about, TAKEN, frozenset(), (), "refuse"), place)
    for number in range(2):
        path = f"{place}@v{number}"
        alone = [row for row in expected if row["file"] == number]
        assert comparable(by_spark(home.context(), about, path)) == comparable(alone)
