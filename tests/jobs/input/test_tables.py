"""Parquet files, and Delta tables version by version."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet

from jobs.input import files
from jobs.input.plain import plain_table
from jobs.input.reading import needed_columns
from monitoring_lib.errors import DataError

from .conftest import make_source, table_of

TIMES = pa.array([datetime(2001, 1, 1, tzinfo=UTC), datetime(2001, 1, 2, tzinfo=UTC)], pa.timestamp("us", "UTC"))


def table(**columns):
    return pa.table(
        {"time": TIMES, "site": pa.array(["a", "b"]), "item": pa.array(["x", "y"]), "value": pa.array([1, 2])} | columns
    )


def read(path, **keys):
    return table_of(path, format="parquet", **keys).to_pylist()


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(
        table(
            site=pa.array([7, 8]),
            item=pa.array(["x", "y"]).dictionary_encode(),
            value=pa.array([Decimal("6.95"), Decimal("-1.00")]),
            flag=pa.array([True, None]),
        ),
        path,
    )
    columns = {"time": "time", "site": "site", "item": "item", "value": "value", "flag": "flag"}
    found = read(path, scale=100, columns=columns)
    assert [(row["line"], row["site"], row["item"], row["value"]) for row in found] == [
        (1, "7", "x", 695), (2, "8", "y", -100),
    ]  # fmt: skip
    assert found[1]["time"] == datetime(2001, 1, 2, tzinfo=UTC)
    assert [dict(row["fields"]) for row in found] == [{"flag": "true"}, {"flag": None}]


def test_a_faulty_row_of_parquet_shows_itself_as_json(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(table(value=pa.array([1.25, float("nan")]), item=pa.array([b"\xff", b"ok"])), path)
    first, second = read(path)
    assert first["fault"] == "item is not UTF-8"
    assert second["fault"] == "value 'nan' is no number"
    assert '"site": "b"' in second["raw"]


def test_a_wrong_or_nested_column_and_a_truncated_file_are_refused_whole(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(table().rename_columns(["time", "sites", "item", "value"]), path)
    with pytest.raises(DataError, match="has no column 'site'; did you mean 'sites'"):
        read(path)
    parquet.write_table(table(item=pa.array([["x"], ["y"]])), path)
    with pytest.raises(DataError, match=r"column 'item' holds list<.*name a column of plain values"):
        read(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="is no Parquet file or is truncated"):
        read(path)


@pytest.fixture
def delta(tmp_path):
    """Two appends, a compaction, one more append."""
    path = tmp_path / "table"
    write_deltalake(path, table(day=pa.array(["m", "n"])), partition_by=["day"])
    write_deltalake(path, table(day=pa.array(["m", "n"]), item=pa.array(["z", "z"])), mode="append")
    DeltaTable(path).optimize.compact()
    write_deltalake(path, table(day=pa.array(["m", "ö /"]), item=pa.array(["last", "last"])), mode="append")
    return path


def read_versions(pattern, home, **keys):
    found = files.find(pattern, home)
    return [(file, table_of(file.path, format="delta", **keys).to_pylist()) for file in found]


def test_every_version_of_a_delta_table_brings_what_it_added(delta, tmp_path):
    columns = {"time": "time", "site": "site", "item": "item", "value": "value", "day": "day"}
    found = read_versions("tab*", tmp_path, columns=columns)
    assert [file.path for file, _ in found] == [f"{delta}@v{number}" for number in range(4)]
    items = [sorted(row["item"] for row in rows) for _, rows in found]
    assert items == [["x", "y"], ["z", "z"], [], ["last", "last"]]
    assert {dict(row["fields"])["day"] for row in found[3][1]} == {"m", "ö /"}
    digests = [files.digest(file.path) for file, _ in found]
    assert len(set(digests)) == 4
    assert digests == [files.digest(file.path) for file, _ in found]


def test_spark_may_read_what_means_the_same_to_it(delta, tmp_path):
    def kinds(path, **keys):
        source = make_source(**{"format": "parquet"} | keys)
        found = plain_table(str(path), source, needed_columns(source), str(tmp_path))
        return found and (dict(found.columns), [(file.before, file.records) for file in found.files])

    path = tmp_path / "x.parquet"
    parquet.write_table(table(), path)
    columns = {"time": "timestamp", "site": "string", "item": "string", "value": "bigint"}
    assert kinds(path) == (columns, [(0, 2)])
    assert kinds(path, time_format="%Y") is None
    assert kinds(path, columns={"time": "time", "site": "site", "item": "time"}) is None
    parquet.write_table(table(), tmp_path / "a name.parquet")
    assert kinds(tmp_path / "a name.parquet") is None  # Spark would escape it
    parquet.write_table(table(time=TIMES.cast(pa.timestamp("ns", "UTC"))), path)
    assert kinds(path) is None
    parquet.write_table(table(time=TIMES.cast(pa.timestamp("us"))), path)
    assert kinds(path, time_zone="Europe/Berlin") is None
    parquet.write_table(table(SITE=pa.array(["a", "b"])), path)
    assert kinds(path) is None  # names that differ by capitals
    assert kinds(f"{delta}@v0", format="delta") == (columns, [(0, 1), (1, 1)])
    assert kinds(f"{delta}@v2", format="delta") is None  # a compaction brings nothing
    assert kinds(f"{delta}@v3", format="delta") is None  # a partition whose folder Spark would escape


def test_a_version_that_takes_rows_away_is_refused(delta, tmp_path):
    DeltaTable(delta).delete("item = 'x'")
    with pytest.raises(DataError, match="@v4: takes rows away"):
        read_versions("table", tmp_path)


def test_a_version_whose_log_is_gone_is_an_error_and_keeps_its_digest(delta, tmp_path):
    before = files.digest(f"{delta}@v1")
    DeltaTable(delta).create_checkpoint()
    (delta / "_delta_log" / f"{1:020}.json").unlink()
    assert files.digest(f"{delta}@v1") == before
    assert [file.path[-3:] for file in files.find("table", tmp_path)] == ["@v0", "@v1", "@v2", "@v3"]
    with pytest.raises(DataError, match="no longer has this version"):
        table_of(delta.parent / "table@v1", format="delta")


def test_a_delta_source_that_finds_a_plain_file_says_so(tmp_path):
    parquet.write_table(table(), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="is no version of a Delta table"):
        table_of(tmp_path / "x.parquet", format="delta")
