"""Rows of this process as Spark is given them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jobs.lake.site_tables import to_frame


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
