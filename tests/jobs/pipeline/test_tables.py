"""Every table as Delta sees it: a plain protocol that any reader knows, and both engines read the same rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from jobs.epoch.decisions import Decision, store_decision
from jobs.input.files import FoundFile
from jobs.input.plain import DataFile, PlainTable
from jobs.lake.content import digest_rows
from jobs.landing.filing import AcceptedTimes
from jobs.landing.plain_frames import PlainFile
from jobs.landing.references import record_references
from monitoring_lib.tables import TABLES, Table
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, SOURCE, Deployment, shopping

pytestmark = pytest.mark.spark
PLAIN = {"appendOnly", "invariants", "checkConstraints", "changeDataFeed"}
"""Table features that ask nothing of a reader."""
CHECKED = SOURCE | {"quality": {"ranges": {"value": [0, 100]}}}
EACH = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    """Two epochs, with a row that cannot be read and a site that is set aside."""
    monitors = (BUSIEST | {"shadow": ["margins"]}, RECENT)
    home = Deployment(tmp_path_factory.mktemp("tables"), CHECKED, monitors, ONE_PARTITION)
    for hour, rows in shopping(31, 2).items():
        home.add_file(f"{hour}.csv", rows)
    path = home.add_file("odd.csv", [(HOUR, "wild/ü", "item 1", 5000)])
    path.write_text(path.read_text() + "never,site 1,item 1,1\n")
    home.run(0, 2)
    context = home.context()
    audited = home.command("audit", "shop")
    assert audited.returncode == 0, audited.stdout + audited.stderr
    compared = home.command("plan", BUSIEST["name"], "--methods", "margins", "--keep")
    assert compared.returncode == 0, compared.stdout + compared.stderr
    start = context.config.source("shop").clock.start_of(1)
    store_decision(context.lake, Decision("shop", start, "wild/ü", "rejected", "5000 is no price"))
    table = PlainTable({"time": "string"}, [DataFile(str(path), 0, 2)])
    referred = PlainFile(0, FoundFile(str(path), 0, 0), "digest", table, AcceptedTimes(None, start), "write")
    record_references(context.lake, context.config.source("shop"), [referred], {"digest": [start]})
    return home


@EACH
def test_a_table_asks_nothing_special_of_its_readers(home: Deployment, table: Table) -> None:
    found = home.context().lake.store_of(table).open(table)
    assert found is not None
    protocol = found.protocol()
    assert protocol.min_reader_version == 1
    assert not protocol.reader_features
    assert protocol.min_writer_version <= 7
    assert set(protocol.writer_features or ()) <= PLAIN
    settings = found.metadata().configuration
    assert settings.get("delta.enableDeletionVectors", "false") == "false"
    assert settings.get("delta.columnMapping.mode", "none") == "none"
    assert settings.get("delta.checkpointPolicy", "classic") == "classic"
    assert found.metadata().partition_columns == ([table.partition] if table.partition else [])


@EACH
def test_a_table_is_as_it_is_declared_whichever_engine_reads_it(home: Deployment, table: Table) -> None:
    lake = home.context().lake
    stored = lake.store_of(table).open(table)
    assert stored is not None
    by_spark = lake.frame(table)
    assert by_spark.columns == list(table.columns)
    found: pa.Table = pa.table(by_spark.toArrow()).cast(table.schema)
    rows = home.rows(table)
    assert len(rows) == found.num_rows
    assert rows
    assert digest_rows(table, found.to_pylist()) == digest_rows(table, rows)


def test_no_name_out_of_data_is_part_of_a_path(home: Deployment) -> None:
    names = [str(path.relative_to(home.home / "var")) for path in Path(home.home / "var").rglob("*")]
    assert len(names) > len(TABLES)
    assert not [name for name in names if "site 1" in name or "wild" in name or "item" in name]
