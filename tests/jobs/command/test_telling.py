"""What a person is told of trouble: the first error, as it stands, and nothing of a file's content in an alert."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.command import run as driver
from jobs.epoch.handover import Handover
from jobs.input.quoting import without_content
from jobs.terminal import console
from monitoring_lib.errors import StorageError
from tests.jobs.sealed_home import SealedHome


def failing(text: str) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise StorageError(text)

    return fail


@pytest.mark.parametrize("at", ["land", "gate"])
def test_the_first_error_is_told_not_that_of_the_alert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: str
) -> None:
    home = SealedHome(tmp_path)
    steps = dict.fromkeys(driver.STEPS, lambda *_: None) | {at: failing("states: the disk is full")}
    steps["alert"] = failing("alerts: the disk is full")
    monkeypatch.setattr(driver, "STEPS", steps)
    context = home.context()
    clock = context.config.source("shop").clock
    with pytest.raises(StorageError, match="states: the disk is full"):
        driver.run(context, Handover.begin("shop", clock, clock.start_of(0), clock.start_of(1), []))
    assert "the alert could not be stored: alerts: the disk is full" in capsys.readouterr().err


def test_names_out_of_data_are_no_markup_and_no_emoji(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(console.console(), "_file", said)
    console.say("site '[red]:warning:[/red]' is set aside")
    assert said.getvalue() == "site '[red]:warning:[/red]' is set aside\n"


@pytest.mark.parametrize(
    "reason",
    [
        "/x.csv: has no column 'time'; did you mean 'secret'?; its columns: secret, word",
        "/x.csv: has no column 'time'; its columns: secret, word",
        "/x.csv: the last record opens a quote that is never closed: 'secret'",
        "/x.csv: the header names 'secret' twice; give each column its own name",
    ],
)
def test_nothing_of_a_file_goes_into_an_alert(reason: str) -> None:
    told = without_content(reason)
    assert "secret" not in told
    assert "word" not in told
    assert told.startswith("/x.csv: ")
    assert len(told) > len("/x.csv: ") + 10


def test_a_reason_that_quotes_nothing_is_told_whole() -> None:
    assert without_content("/x.csv.gz: is truncated; send the whole file again").endswith("send the whole file again")
