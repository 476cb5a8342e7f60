"""A newcomer's run: no server stands by, Spark runs in the command's own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.spark.session import REMOTE
from monitoring_lib.tables import OUTBOX, SITE_STATES
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
HOURS, SILENT = 6, (2, 4)
MONITORS = (BUSIEST | {"method": "margins"}, RECENT)


def test_epochs_in_which_no_site_has_anything_to_store_cost_no_row_of_the_others(
    tmp_path: Path, spark_remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, shared = (Deployment(tmp_path / name, monitors=MONITORS, settings=ONE_PARTITION) for name in ("own", "shared"))
    for hour, rows in shopping(3, HOURS).items():
        if hour not in SILENT:
            for home in (own, shared):
                home.add_file(f"{hour}.csv", rows)
    shared.run(0, HOURS)
    monkeypatch.delenv(REMOTE)
    done = own.command("run", "--source=shop", "--from=2020-01-01T00:00", f"--to=2020-01-01T{HOURS:02}:00")
    assert done.returncode == 0, done.stderr
    assert own.digests() == shared.digests()
    for table in (SITE_STATES, OUTBOX):  # digests are of what was to be written, these rows are what is there
        assert own.content(table) == shared.content(table)
