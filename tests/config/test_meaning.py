"""The digest changes exactly when answers could; monitors and sources outside any folder."""

from __future__ import annotations

import re

import pytest

from monitoring_lib import config
from monitoring_lib.errors import ConfigError, UsageError

from .conftest import MONITOR, SOURCE


def digest(folder):
    found = config.load(folder)
    return found.digest_of(found.monitors["busiest"])


@pytest.mark.parametrize(
    ("monitor", "source"),
    [
        (MONITOR + "title: For people\n", SOURCE),
        (MONITOR + "tolerance: 0.0\nmethod: margins\nwindow: growing\nmeasure: count\n", SOURCE),
        (MONITOR + "options: {margins: {}}\n", SOURCE),
        (MONITOR + "tick: 1d\nconfidence: 0.95\nmeasure: ' count'\n", SOURCE + "tick: 1d\n"),
        (MONITOR, SOURCE.replace("data/", "/elsewhere/") + "schedule: 2d\n"),
        (MONITOR, SOURCE + "airflow: {catchup: true, retries: 0, timeout: 2h, owner: netops}\n"),
        (MONITOR, SOURCE.replace("epoch: 1d", "epoch: 24h")),
        ("\n".join(reversed(MONITOR.splitlines())), "# comment\n" + SOURCE),
    ],
)
def test_what_changes_no_answer_changes_no_digest(conf, monitor, source):
    before = digest(conf())
    assert re.fullmatch("[0-9a-f]{64}", before)
    assert digest(conf({"base/monitors/busiest.yml": monitor, "base/sources/flights.yml": source})) == before


@pytest.mark.parametrize(
    ("monitor", "source"),
    [
        (MONITOR.replace("k: 10", "k: 11"), SOURCE),
        (MONITOR + "tolerance: 1\n", SOURCE),
        (MONITOR + "window: 2d\n", SOURCE),
        (MONITOR + "item: site\n", SOURCE),
        (MONITOR + "where: value > 3\n", SOURCE),
        (MONITOR + "tick: 1h\n", SOURCE),
        (MONITOR + "confidence: 0.9\n", SOURCE),
        (MONITOR, SOURCE + "tick: 1h\n"),
        (MONITOR, SOURCE + "values: {late: late}\n"),
        (MONITOR + "measure: sum(value)\n", SOURCE),
        (MONITOR, SOURCE + "scale: 10\n"),
        (MONITOR, SOURCE.replace("2001-01-01", "2001-01-02")),
        (MONITOR, SOURCE.replace("item: dest", "item: lower(dest)")),
        (MONITOR, SOURCE + "quality: {freshness: 1}\n"),
    ],
)
def test_what_may_change_an_answer_changes_the_digest(conf, monitor, source):
    before = digest(conf())
    assert digest(conf({"base/monitors/busiest.yml": monitor, "base/sources/flights.yml": source})) != before


def test_unknown_names_are_wrong_use(conf):
    found = config.load(conf())
    with pytest.raises(UsageError, match="unknown source 'flihgts'; did you mean 'flights'"):
        found.source("flihgts")
    with pytest.raises(UsageError, match="unknown monitor 'busyest'; did you mean 'busiest'"):
        found.monitor("busyest")
    assert [monitor.name for monitor in found.monitors_of("flights")] == ["busiest"]
    assert found.monitors_of("nothing") == []


def test_a_monitor_file_may_stand_alone_without_a_source(tmp_path):
    path = tmp_path / "my-question.yml"
    path.write_text("question: top-k\nk: 3\n")
    monitor = config.read_monitor(path)
    assert (monitor.name, monitor.source, monitor.params.k) == ("my-question", None, 3)
    path.write_text("question: top-k\nk: 3\nwindo: 3d\n")
    with pytest.raises(ConfigError, match=r"my-question\.yml:3: windo: '3d': unknown key; did you mean 'window'"):
        config.read_monitor(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        config.read_monitor(tmp_path / "absent.yml")


def test_mappings_that_stand_in_no_file_are_checked_alike():
    with pytest.raises(ConfigError, match=r"--columns: columns\.time: is missing"):
        config.parse_source(
            {"name": "x", "format": "csv", "path": "x", "columns": {}, "epoch": "1d", "origin": "2001-01-01"},
            "--columns",
        )
    with pytest.raises(ConfigError, match="here: k: is missing"):
        config.parse_monitor({"name": "x", "question": "top-k"}, "here")


def without_a_site() -> config.Source:
    said = {
        "name": "x", "format": "csv", "path": "x", "columns": {"time": "t"}, "epoch": "1d", "origin": "2001-01-01",
    }  # fmt: skip
    return config.parse_source(said, "here")


def test_a_source_may_lack_a_site_outside_a_folder_only():
    assert without_a_site().columns == {"time": "t"}


def test_monitor_and_source_are_held_against_each_other():
    source = without_a_site()
    monitor = config.parse_monitor(
        {"name": "m", "question": "top-k", "k": 1, "measure": "sum(value)", "window": "36h"}, "here"
    )
    with pytest.raises(ConfigError, match="3 faults") as caught:
        config.check_together(monitor, source)
    assert "monitor m: window: '1d12h': is not a whole number of epochs of 1d; write 1d or 2d" in str(caught.value)
