"""What a person is told when a table cannot be opened, read or written. The texts are those of the engines."""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.lake.checking import refuse_damaged_landings
from jobs.lake.repair import repair
from jobs.lake.store import Store
from jobs.lake.trouble import engine_trouble, trouble
from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import (
    CheckFailed,
    DamagedTable,
    FarwatchError,
    SparkUnavailable,
    StorageError,
    Transient,
    UsageError,
)
from monitoring_lib.tables import CURSORS
from tests.jobs.lake.damage import lose_checkpoint, lose_checkpoint_and_log, lose_data_file

PLACE = "/var/coordinator/states"


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (
            "Generic LocalFileSystem error\n \x1b[31m↳\x1b[0m No space left on device (os error 28)",
            StorageError,
            "full",
        ),
        ("Failed to parse parquet: Unable to copy data to file: File too large (os error 27)", StorageError, "limit"),
        ("Unable to open file x: Read-only file system (os error 30)", UsageError, "read-only"),
        ("Permission denied (os error 13)", UsageError, "this user may not"),
        ("Kernel error: Invalid Checkpoint: Had a _last_checkpoint hint", DamagedTable, "farwatch repair states"),
        ("Object at location /x/part-0.parquet not found: No such file", DamagedTable, "part-0.parquet"),
        ("o451.save: ChecksumException: Checksum error: x/_delta_log/2.json", DamagedTable, "farwatch repair states"),
        ("Schema error: No field named fault.", UsageError, "made by an older one"),
        ("connection timed out", StorageError, "connection timed out"),
    ],
)
def test_the_table_the_cause_and_the_remedy_are_named(said: str, kind: type[FarwatchError], told: str) -> None:
    error = trouble(PLACE, "written", Exception(said))
    assert type(error) is kind
    assert PLACE in str(error)
    assert told in str(error)
    assert "\n" not in str(error)
    assert "\x1b" not in str(error)


class PythonException(Exception):  # noqa: N818  # as pyspark calls it
    """What pyspark raises for an error inside a worker."""


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (Exception("StatusCode.UNAVAILABLE: failed to connect to all addresses"), SparkUnavailable, "farwatch up"),
        (Exception("StatusCode.UNAUTHENTICATED: Invalid authentication token"), UsageError, "refuses our token"),
        (
            Exception("[FAILED_READ_FILE.FILE_NOT_EXIST] file:/x/sites/events/day=2020-01-01/part-0.parquet\n\tat org"),
            DamagedTable, "`events`",
        ),
        (
            Exception("[FAILED_READ_FILE.NO_HINT] file file:///x/sites/synopses/_delta_log/00000000000000000003.json."),
            DamagedTable, "start Spark anew",
        ),
        (PythonException("Traceback\n  File x\nValueError: no such thing\n\tat org.apache"), CheckFailed, "ValueError"),
        (Exception("Job aborted: the executor is lost"), Transient, "the executor is lost"),
    ],
)  # fmt: skip
def test_what_comes_again_is_not_worth_retrying_in_spark(said: Exception, kind: type[FarwatchError], told: str) -> None:
    error = engine_trouble(said)
    assert type(error) is kind
    assert told in str(error)
    assert "\tat " not in str(error)


def filled(folder: Path) -> Store:
    store = Store(str(folder))
    for hour in range(3):
        row = {"monitor": "m", "epoch_start": to_datetime(hour), "content": "c", "write": f"w{hour}"}
        store.append(CURSORS, pa.Table.from_pylist([row], CURSORS.schema))
    return store


def test_a_file_that_is_gone_is_damage_until_the_log_forgets_it(tmp_path: Path) -> None:
    filled(tmp_path)
    lose_data_file(tmp_path / "cursors", CURSORS)
    with pytest.raises(DamagedTable, match=r"`cursors` is damaged .*part-.*`farwatch repair cursors`"):
        Store(str(tmp_path)).read(CURSORS)
    [done] = repair(Store(str(tmp_path)), CURSORS)
    assert "is gone, and out of the log" in done
    assert Store(str(tmp_path)).read(CURSORS).num_rows == 2
    assert repair(Store(str(tmp_path)), CURSORS) == []


def test_a_lost_checkpoint_costs_nothing_where_the_log_is_whole(tmp_path: Path) -> None:
    filled(tmp_path)
    lose_checkpoint(tmp_path / "cursors", CURSORS)
    with pytest.raises(DamagedTable, match="`farwatch repair cursors`"):
        Store(str(tmp_path)).read(CURSORS)
    [done] = repair(Store(str(tmp_path)), CURSORS)
    assert "the log is whole" in done
    assert Store(str(tmp_path)).read(CURSORS).num_rows == 3


def test_a_table_whose_log_is_gone_is_put_aside_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path)
    lose_checkpoint_and_log(tmp_path / "cursors", CURSORS)
    [done] = repair(Store(str(tmp_path)), CURSORS)
    assert "begins anew" in done
    assert len(list((tmp_path / "cursors.damaged-1").glob("*.parquet"))) == 3
    assert filled(tmp_path).read(CURSORS).num_rows == 3


def test_a_table_of_an_older_release_is_named_with_what_to_do(tmp_path: Path) -> None:
    old = pa.table({"monitor": ["m"], "write": ["w"]})
    write_deltalake(tmp_path / "cursors", old)
    with pytest.raises(UsageError, match="table `cursors` has other columns than this release"):
        Store(str(tmp_path)).read(CURSORS)
    row = {"monitor": "m", "epoch_start": to_datetime(0), "content": "c", "write": "w"}
    with pytest.raises(UsageError, match="table `cursors` has other columns than this release"):
        Store(str(tmp_path)).append(CURSORS, pa.Table.from_pylist([row], CURSORS.schema))


def test_a_landing_without_its_files_or_with_a_file_twice_is_damage() -> None:
    rows = pa.table({"write": ["w1", "w2"], "path": ["a.csv", "b.csv"]})
    refuse_damaged_landings("shop", rows, {"w1": 1, "w2": 2})
    refuse_damaged_landings("shop", rows, {"w1": 1})  # what no journal names does not exist
    with pytest.raises(DamagedTable, match="shop: the table `landings` is damaged: what landing 3 brought is gone"):
        refuse_damaged_landings("shop", rows, {"w1": 1, "w2": 2, "w3": 3})
    with pytest.raises(DamagedTable, match=r"a\.csv is there twice"):
        refuse_damaged_landings("shop", pa.concat_tables([rows, rows]), {"w1": 1, "w2": 2})


def test_a_checksum_that_a_lost_commit_has_left_is_removed_and_one_that_fits_stays(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "cursors", pa.table({"a": [1]}))
    log = tmp_path / "cursors" / "_delta_log"
    content = (log / f"{0:020}.json").read_bytes()
    pieces = [content[at : at + 512] for at in range(0, len(content), 512)]
    fitting = b"crc\0" + (512).to_bytes(4, "big") + b"".join(zlib.crc32(one).to_bytes(4, "big") for one in pieces)
    fits, lost, foreign = (log / f".{name}.crc" for name in (f"{0:020}.json", f"{7:020}.json", "_last_checkpoint"))
    fits.write_bytes(fitting)
    lost.write_bytes(fitting)
    foreign.write_bytes(fitting)
    (log / "_last_checkpoint").write_text("{}")
    done = repair(Store(str(tmp_path)), CURSORS)
    assert [line.split()[1] for line in done if "another file" in line] == sorted([lost.name, foreign.name])
    assert fits.exists()
    assert not lost.exists()
    assert not foreign.exists()
