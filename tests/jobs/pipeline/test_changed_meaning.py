"""What a row of a source means is part of its journal: a change is refused before anything is written.

No Spark: the refusal comes before it is needed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from monitoring_lib.config.meaning import landing_of
from monitoring_lib.tables import EPOCHS, LANDINGS
from tests.jobs.pipeline.deployment import BUSIEST, SOURCE, Deployment
from tests.jobs.sealed_run import filled

RANGE = ("--source", "shop", "--from", "2020-01-01T01:00Z", "--to", "2020-01-01T02:00Z")
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "epoch": ({"epoch": "30m"}, "epoch: from 1h to 30m"),
    "origin": ({"origin": "2019-12-31"}, "origin: from 2020-01-01"),
    "columns": ({"columns": SOURCE["columns"] | {"item": "site"}}, '"item": "item"'),  # type: ignore[operator]
    "time_zone": ({"time_zone": "Europe/Berlin"}, 'time_zone: from "UTC" to "Europe/Berlin"'),
    "scale": ({"scale": 10}, "scale: from 1 to 10"),
}


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """A source with one landing in its journal."""
    home = configured(tmp_path_factory.mktemp("meaning"), {})
    context = home.context()
    source = context.config.source("shop")
    counts = {source.origin: {"landed": 4}}
    context.lake.ledger.seal_landing("shop", source.clock, 0, "land-1", counts, landing_of(source))
    when = datetime(2020, 1, 1, tzinfo=UTC)
    row = filled(LANDINGS.columns) | {
        "source": "shop", "path": "data/old.csv", "digest": "d", "how": "new", "begins": "", "note": "",
        "modified": when, "landed_at": when, "epochs": [], "write": "land-1",
    }  # fmt: skip
    place = Path(context.lake.sites.location(LANDINGS))
    place.mkdir(parents=True)
    write_deltalake(place, pa.Table.from_pylist([row], LANDINGS.schema))
    return home


@pytest.mark.parametrize("key", CHANGES)
def test_a_change_of_what_rows_mean_is_refused_with_what_changed_and_nothing_is_sealed(
    landed: Deployment, key: str
) -> None:
    change, said = CHANGES[key]
    before = landed.rows(EPOCHS)
    (landed.home / "data" / "new.csv").write_text("time,site,item,value\n2020-01-01T01:00Z,a,b,1\n")
    done = configured(landed.home, change).command("run", *RANGE)
    (landed.home / "data" / "new.csv").unlink()
    assert done.returncode == 2, done.stderr
    text = " ".join(done.stderr.split())
    assert said in text
    assert "give the source a new name" in text
    assert landed.rows(EPOCHS) == before
    assert not (landed.home / "var" / "sites" / "events").exists()


def test_changed_and_taken_back_everything_goes_on(landed: Deployment) -> None:
    done = configured(landed.home, {}).command("land", *RANGE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["landing"] == 1


def test_to_read_a_repeated_hour_at_all_is_no_other_meaning(landed: Deployment) -> None:
    done = configured(landed.home, {"repeated_hour": "first"}).command("land", *RANGE)
    assert done.returncode == 0, done.stderr


def configured(home: Path, change: dict[str, Any]) -> Deployment:
    return Deployment(home, SOURCE | change, (BUSIEST,))
