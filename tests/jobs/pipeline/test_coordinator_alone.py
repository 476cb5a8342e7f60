"""The coordinator's steps read messages and its own states only: they run with all site storage moved away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from jobs.command.run import STEPS
from jobs.epoch.handover import Handover
from jobs.spark.session import REMOTE
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import MESSAGES
from tests.jobs.pipeline.deployment import BUSIEST, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
Deploy = Callable[..., Deployment]
EPOCHS = 3
AT_SITES = ("land", "gate", "summarise", "observe")
AT_THE_CENTRE = ("resolve", "validate", "seal", "alert")
NOBODY = "sc://127.0.0.1:1"
"""An address at which no server answers: a step that asks for Spark fails."""
MONITORS = (BUSIEST | {"shadow": ["margins"]}, RECENT | {"method": "margins"})


class Away:
    """Stands for the sites' storage: whatever is asked of it is an error."""

    def __getattr__(self, name: str) -> NoReturn:
        raise StorageError(f"a coordinator's step asked the sites' storage for {name!r}")


@pytest.fixture
def home(deploy: Deploy) -> Deployment:
    home = deploy(monitors=MONITORS)
    for hour, rows in shopping(3, EPOCHS).items():
        home.add_file(f"{hour}.csv", rows)
    return home


def test_the_coordinators_steps_run_with_all_site_storage_moved_away(
    home: Deployment, deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, elsewhere = home.home / "var/sites", home.home / "elsewhere"
    for epoch in range(EPOCHS):
        given = run_steps(home, AT_SITES, home.handover(epoch, epoch + 1))
        storage.rename(elsewhere)
        with monkeypatch.context() as patch:
            patch.setenv(REMOTE, NOBODY)
            run_steps(home, AT_THE_CENTRE, given, sites=Away())
        elsewhere.rename(storage)
    together = deploy("together", monitors=MONITORS)
    for hour, rows in shopping(3, EPOCHS).items():
        together.add_file(f"{hour}.csv", rows)
    together.run(0, EPOCHS)
    assert len(home.digests()) == len(MONITORS) * EPOCHS
    assert home.digests() == together.digests()
    assert home.published() == together.published()


def test_only_a_round_that_asks_sites_needs_their_storage(deploy: Deploy) -> None:
    """A method whose coordinator asks back: what the sites reply is worked out where they are."""
    asking = deploy(monitors=(BUSIEST | {"method": "constraints"},))
    asking.add_file("0.csv", shopping(3, 1)[0])
    given = run_steps(asking, AT_SITES, asking.handover(0, 1))
    with pytest.raises(StorageError, match="asked the sites' storage"):
        run_steps(asking, ("resolve",), given, sites=Away())
    run_steps(asking, AT_THE_CENTRE, given)
    assert any(row["round"] > 0 for row in asking.rows(MESSAGES))


def run_steps(home: Deployment, steps: tuple[str, ...], given: Handover, sites: Any = None) -> Handover:
    """Each step with a context of its own, and nothing but the hand-over's text of the one before."""
    for step in steps:
        given = Handover.from_json(given.to_json())
        context = home.context()
        if sites is not None:
            context.lake.sites = context.lake.site_tables.store = sites
        STEPS[step](context, given)
    return given
