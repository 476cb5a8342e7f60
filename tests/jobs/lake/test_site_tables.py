"""Rows of this process as Spark is given them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from jobs.lake import site_tables
from jobs.lake.site_tables import SiteTables, to_frame
from jobs.lake.store import Store
from jobs.spark.session import REMOTE, open_session
from monitoring_lib.config.settings import Spark
from monitoring_lib.tables import OUTBOX, Table


class Session:
    """Gives back what a frame would be made of."""

    def createDataFrame(self, rows: Any, schema: Any) -> Any:  # noqa: N802
        return rows


def test_no_chunk_is_empty_because_spark_drops_all_rows_behind_one() -> None:
    rows = pa.table({"number": [1, 2, 3]})
    cut = pa.concat_tables([rows, rows.slice(0, 0), rows])
    assert [batch.num_rows for batch in cut.to_batches()] == [3, 0, 3]
    given = to_frame(Session(), cut)  # type: ignore[arg-type]
    assert [batch.num_rows for batch in given.to_batches()] == [6]


def test_many_rows_are_sent_in_several_commits_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[pa.Table] = []

    class Recorded(SiteTables):
        def append(self, table: Table, rows: Any) -> None:
            sent.append(rows)

    class Frame(Session):
        def createDataFrame(self, rows: Any, schema: Any) -> Any:  # noqa: N802
            return SimpleNamespace(coalesce=lambda _: rows)

    monkeypatch.setattr(site_tables, "_MOST_SENT", 8_000)
    rows = pa.table({"number": range(3_500)})
    tables = Recorded(Store("nowhere"), Frame)  # type: ignore[arg-type]
    tables.append_rows(OUTBOX, rows)
    assert [part.num_rows for part in sent] == [875] * 4
    assert pa.concat_tables(sent).equals(rows)
    tables.append_rows(OUTBOX, rows.slice(0, 1))
    assert [part.num_rows for part in sent[4:]] == [1]


@pytest.mark.spark
def test_rows_travel_in_the_plan_and_do_not_stay_in_the_server(
    spark_remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REMOTE, spark_remote)
    session = open_session(Spark(), tmp_path)
    monkeypatch.setattr(session.client, "cache_artifacts", lambda blobs: pytest.fail("kept by the server"))
    rows = pa.table({"payload": [bytes(1_000_000)] * 31})
    assert to_frame(session, rows).count() == 31
