"""Helper processes of a long range: what they make is what the run's own process makes, whatever becomes of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from subprocess import Popen
from typing import Any

import pyarrow as pa
import pytest

from jobs.epoch.output import Output
from jobs.sites import helpers
from jobs.sites.helpers import Helpers
from jobs.sites.parcels import Parcel
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

EPOCHS = 6
MONITORS = [
    BUSIEST | {"name": f"busiest-{number}", "method": method, "window": window}
    for number, (method, window) in enumerate(
        [("caching", "growing"), ("margins", "3h"), ("requery", "growing"), ("margins", "growing")]
    )
]
EVENTS = [event for hour in range(EPOCHS) for event in bought(hour, north="aab" * (hour % 3), south="bcc"[hour % 2 :])]
Take = Callable[[Helpers, Parcel], None]


def sealed(folder: Path) -> list[Any]:
    """What a range of epochs seals: the digests of its chains cover every row."""
    home = SealedHome(folder, MONITORS)
    home.land(EVENTS)
    home.run(0, 1)
    home.run(1, EPOCHS)
    ledger = home.context().lake.ledger
    return [
        (seal.monitor, seal.epoch_start, seal.digests | {"gate": "", "validations": ""})
        for monitor in MONITORS
        for seal in ledger.seals("shop", monitor["name"])
    ]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return sealed(tmp_path_factory.mktemp("alone"))


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The monitors that a helper has done, where any work is worth one."""
    done: list[str] = []
    take: Take = Helpers._take

    def noted(self: Helpers, parcel: Parcel) -> None:
        done.append(parcel.monitor)
        take(self, parcel)

    monkeypatch.setattr(helpers, "_WORTH", 1)
    monkeypatch.setattr(helpers.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(Helpers, "_take", noted)
    for name, value in SealedHome(tmp_path, MONITORS).environment.items():
        monkeypatch.setenv(name, value)
    return done


def test_a_helper_makes_the_rows_that_the_run_itself_would_make(
    tmp_path: Path, helped: list[str], alone: list[Any]
) -> None:
    assert sealed(tmp_path) == alone
    assert helped


def test_a_helper_that_ends_at_once_costs_time_only(
    tmp_path: Path, helped: list[str], alone: list[Any], monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def dead(command: list[str], **given: Any) -> Popen[bytes]:
        return Popen([sys.executable, "-c", "raise SystemExit(9)"], **given)

    monkeypatch.setattr(helpers.subprocess, "Popen", dead)
    assert sealed(tmp_path) == alone
    assert not helped
    assert "a helper process has ended" in capfd.readouterr().err


def test_a_helper_of_another_deployment_does_nothing(
    tmp_path: Path, helped: list[str], alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SealedHome(tmp_path / "other", MONITORS)
    for name, value in other.environment.items():
        monkeypatch.setenv(name, value)
    assert sealed(tmp_path / "this") == alone
    assert not helped


def test_a_helper_that_knows_another_configuration_does_nothing(
    tmp_path: Path, helped: list[str], alone: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SealedHome(tmp_path / "other", [monitor | {"k": 1} for monitor in MONITORS])
    monkeypatch.setenv("FARWATCH_CONF", str(other.home / "conf"))
    assert sealed(tmp_path) == alone
    assert not helped


def test_no_helper_outlives_a_run_that_fails(
    tmp_path: Path, helped: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Popen[bytes]] = []

    def noted(command: list[str], **given: Any) -> Popen[bytes]:
        started.append(Popen(command, **given))
        return started[-1]

    finish = Output.finish

    def fails(output: Output) -> None:
        if output.step == "resolve":
            raise OSError("the disk is gone")
        finish(output)

    monkeypatch.setattr(helpers.subprocess, "Popen", noted)
    monkeypatch.setattr(Output, "finish", fails)
    with pytest.raises(OSError, match="the disk is gone"):
        sealed(tmp_path)
    assert [process.poll() is not None for process in started] == [True]


def test_a_parcel_comes_back_as_it_was_sent_and_a_torn_one_is_refused() -> None:
    rows = {"messages": pa.table({"a": [1, 2], "b": ["é", None]}), "drafts": pa.table({"c": [b"x"]})}
    stream = BytesIO()
    Parcel("busiest", "{}", rows).write(stream)
    sent = stream.getvalue()
    assert Parcel.read(BytesIO(sent)) == Parcel("busiest", "{}", rows)
    for end in (0, 5, len(sent) - 1):
        with pytest.raises(ValueError, match=r"nothing|middle|Unterminated|Expecting"):
            Parcel.read(BytesIO(sent[:end]))
