"""`land: reference`: nothing is copied, and everything that is sealed is as if it were."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest
from pyarrow import parquet

from jobs.epoch.handover import Handover
from jobs.looking.sql import asked
from jobs.verbs.land import land
from monitoring_lib.epochs import parse_time
from monitoring_lib.errors import DataError, UsageError
from monitoring_lib.tables import EVENTS, LANDINGS, QUARANTINE, REFERENCES
from tests.jobs.pipeline.deployment import HOUR, ONE_PARTITION, RECENT, SOURCE, Deployment, Row, shopping

pytestmark = [pytest.mark.spark, pytest.mark.long]
COPIED = SOURCE | {"format": "parquet", "path": "data/*.parquet"}
REFERRED = COPIED | {"land": "reference"}
EPOCHS = 2


def add(home: Deployment, name: str, rows: Iterable[Row]) -> None:
    """Times are texts, one in a spelling that Spark's reader leaves to us, and one row has no site."""
    start = parse_time("2020-01-01") // 10**6
    seconds, sites, items, values = zip(*rows, strict=True)
    times = [f" {start + second}" if at == 3 else str(start + second) for at, second in enumerate(seconds)]
    table = {"time": times, "site": [*sites[:-1], None], "item": items, "value": pa.array(values, pa.int64())}
    parquet.write_table(pa.table(table), home.home / "data" / name)


def test_what_is_sealed_is_the_same_and_a_changed_file_is_noticed(deploy: Callable[..., Deployment]) -> None:
    copied = deploy("copied", source=COPIED, monitors=(RECENT,), settings=ONE_PARTITION)
    home = deploy("referred", source=REFERRED, monitors=(RECENT,), settings=ONE_PARTITION)
    hours = shopping(21, EPOCHS)
    for made in (copied, home):
        for hour, rows in hours.items():
            add(made, f"{hour}.parquet", rows)
        made.run(0, EPOCHS)
        add(made, "late.parquet", [(HOUR + second, "site 1", "came late", 5) for second in range(20)])
        made.run(1, EPOCHS, revise="late rows")
    assert home.digests() == copied.digests()
    assert len(home.rows(EVENTS)) == 3  # those that only we can read
    assert len(home.rows(REFERENCES)) == 3
    for table in (LANDINGS, QUARANTINE):
        told = ("digest", "landed", "quarantined", "late", "epochs", "kind", "raw", "line")
        mine, theirs = (
            sorted(str([row.get(name) for name in told]) for row in made.rows(table)) for made in (home, copied)
        )
        assert mine == theirs
    landed = len(home.rows(LANDINGS))
    land(home.context(), Handover("shop", 0, 0), again=True)  # what has landed by reference does not land twice
    assert len(home.rows(LANDINGS)) == landed
    with pytest.raises(UsageError, match="events of shop are not copied"), asked(
        home.context().lake, "SELECT count(*) FROM events"
    ) as (_, rows):  # fmt: skip
        list(rows)

    # A file that was only touched is the same; one that has changed, or is gone, is named with the remedy.
    path = home.home / "data" / "0.parquet"
    content = path.read_bytes()
    os.utime(path, (1, 1))
    source = home.context().config.source("shop")
    ends = home.handover(0, EPOCHS)
    whole = home.context().lake.events(source, 2, ends.start, ends.end).count()
    assert whole == copied.context().lake.events(source, 2, ends.start, ends.end).count()
    path.write_bytes(content[:200] + b"x" + content[200:])
    with pytest.raises(DataError, match=r"0\.parquet.*has changed since.*`farwatch land --source shop --changed repl"):
        home.context().lake.events(source, 2, ends.start, ends.end)
    path.unlink()
    with pytest.raises(DataError, match=r"0\.parquet.*is gone. Put it back as it was"):
        home.context().lake.events(source, 2, ends.start, ends.end)
    path.write_bytes(content)
    assert home.context().lake.events(source, 2, ends.start, ends.end).count() == whole
