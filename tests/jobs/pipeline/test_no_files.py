"""A path that matches no file: epochs are sealed empty, and somebody hears of it."""

from __future__ import annotations

from pathlib import Path

from monitoring_lib.tables import ALERTS
from tests.jobs.pipeline.deployment import BUSIEST, SOURCE, Deployment
from tests.jobs.pipeline.remedies import follow, typed

RUN = ("run", "--source", "shop", "--from", "2020-01-01")


def test_it_is_said_every_time_alerted_once_and_the_printed_command_shows_what_the_path_fits(
    tmp_path: Path,
) -> None:
    home = Deployment(tmp_path, SOURCE | {"path": "date/*.csv"}, (BUSIEST,))
    for end in ("2020-01-01T01:00", "2020-01-01T02:00"):
        done = typed(home, *RUN, "--to", end)
        assert done.code == 0, done.text
        assert "no file matches the path 'date/*.csv', and nothing has landed" in done.line
    [alert] = home.rows(ALERTS)
    assert (alert["kind"], alert["state"], alert["severity"]) == ("file refused", "opened", "warning")
    assert "warning: shop: no file matches the path 'date/*.csv'. nothing has landed" in typed(home, "status").line
    checked = typed(home, "status", "--check")
    assert (checked.code, "shop: file refused: no file matches the path 'date/*.csv'" in checked.line) == (1, True)
    assert ["check-config"] in done.remedies
    assert "no file matches" in follow(home, done, done.remedies.index(["check-config"])).line
