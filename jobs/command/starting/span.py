"""From when to when the rows of files are, read as the source would read them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from jobs.command.starting.drafts import expression_for, layout_of
from jobs.command.starting.guesses import Guesses
from jobs.command.starting.sample import Sample
from jobs.input import files
from jobs.input.reading import read
from jobs.terminal.console import say
from monitoring_lib.config import parse_source
from monitoring_lib.errors import DataError

MOST_ROWS = 5_000_000


def span_of(paths: Sequence[files.FoundFile], sample: Sample, found: Guesses) -> tuple[int, int]:
    """The first and the last time, of at most five million rows; microseconds."""
    assert found.time is not None
    source = parse_source(
        {
            "name": "looked-at", "format": sample.format, "path": sample.path.name, "epoch": "1h",
            "origin": "1970-01-01", "columns": {"time": expression_for(found.columns["time"]), "site": "'all'"},
            "time_format": found.time.format, "csv": layout_of(sample),
        },
        str(sample.path),
    )  # fmt: skip
    rows, first, last = 0, [], []
    say("looking at the times of all rows …")
    for file in paths:
        for batch in read(file.path, source):
            ends = pc.min_max(batch["time"].cast("int64")).as_py()
            if ends["min"] is not None:
                first.append(ends["min"])
                last.append(ends["max"])
            rows += batch.num_rows
        if rows >= MOST_ROWS:
            break
    if not first:
        raise DataError(f"{sample.path}: no row has a time that can be read")
    return min(first), max(last)
