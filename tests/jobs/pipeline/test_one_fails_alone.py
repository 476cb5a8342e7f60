"""What raises for one monitor fails that monitor alone, with the reason; the others are sealed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.epoch.handover import Handover
from jobs.verbs.alert import alert
from monitoring_lib.errors import DataError, ExitCode, ExpectationFailed, StorageError
from monitoring_lib.protocols.topk.caching.coordinator import CachingCoordinator as Coordinator
from monitoring_lib.protocols.topk.caching.site import CachingSite as Site
from monitoring_lib.tables import ALERTS
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

SOUND = BUSIEST | {"name": "sound", "method": "margins"}


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path, monitors=(BUSIEST, SOUND))
    shop.land([event for hour in range(2) for event in bought(hour, north="aab", south="bcc")])
    return shop


def sealed(home: SealedHome, monitor: str) -> int:
    return len(home.context().lake.ledger.seals("shop", monitor))


def raising(error: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("role", "name"),
    [(Site, "observe"), (Coordinator, "receive"), (Coordinator, "answers"), (Coordinator, "faults")],
    ids=["observing", "receiving", "answering", "being validated"],
)
def test_a_role_that_raises_costs_its_own_monitor_only(
    home: SealedHome, monkeypatch: pytest.MonkeyPatch, role: type, name: str
) -> None:
    monkeypatch.setattr(role, name, raising(KeyError("unheard of")))
    with pytest.raises(DataError, match="busiest is not sealed: KeyError: 'unheard of'") as caught:
        home.run(0, 2)
    assert caught.value.exit_code == ExitCode.WRONG_USE
    assert (sealed(home, "busiest"), sealed(home, "sound")) == (0, 2)
    monkeypatch.undo()
    home.run(0, 2)
    assert sealed(home, "busiest") == 2


def test_a_broken_invariant_is_a_failed_expectation_and_is_alerted(
    home: SealedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Coordinator, "faults", lambda self, state: ["widths do not add up"])
    with pytest.raises(ExpectationFailed, match="widths do not add up") as caught:
        home.run(0, 1)
    assert caught.value.exit_code == ExitCode.FAILED
    assert (sealed(home, "busiest"), sealed(home, "sound")) == (0, 1)
    clock = home.context().config.source("shop").clock
    given = Handover.begin("shop", clock, clock.start_of(0), clock.start_of(1), [])
    given.failed["busiest"] = str(caught.value)
    alert(home.context(), given)
    told = home.context().lake.centre.read(ALERTS).to_pylist()
    assert sorted(row["subject"] for row in told) == [
        "invariants of caching hold does not hold", "the epoch is not sealed",
    ]  # fmt: skip
    for row in told:
        assert (row["monitor"], row["severity"]) == ("busiest", "critical")
        assert "widths do not add up" in row["detail"]


def test_storage_that_cannot_be_reached_concerns_all_monitors(
    home: SealedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Site, "observe", raising(StorageError("the disk is full")))
    with pytest.raises(StorageError, match="the disk is full"):
        home.run(0, 1)
    assert (sealed(home, "busiest"), sealed(home, "sound")) == (0, 0)
