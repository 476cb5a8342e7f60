"""The demo itself, over fewer hours than a person gets to see: Airflow's scheduler, the real `farwatch`, Spark."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from jobs.epoch.context import Context
from jobs.local.demo.world import MONITORS, SOURCE, World, only_one_demo
from monitoring_lib.config import faults, load
from monitoring_lib.errors import UsageError

HOURS = 3
# A shell that starts the tests in the background has them, and all they start, ignore Ctrl-C.
START = """
import pathlib, signal, sys
from jobs.local import demo
signal.signal(signal.SIGINT, signal.default_int_handler)
demo.run(pathlib.Path(sys.argv[1]), hours=int(sys.argv[2]))
"""
LONGEST_END = 300.0


def started(home: Path, output: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FARWATCH_")}
    with output.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-c", START, str(home), str(HOURS)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
        )


def left_running(home: Path) -> list[str]:
    """Processes that have to do with `home`, by what they are called, where they are, or what they were given."""
    found = []
    for process in psutil.process_iter():
        try:
            told = [*process.cmdline(), process.cwd(), *process.environ().values()]
        except (psutil.Error, OSError):
            continue
        if process.pid != os.getpid() and any(str(home) in text for text in told):
            found.append(" ".join(process.cmdline())[:200])
    return found


def wait_for(output: Path, pattern: str, process: subprocess.Popen[bytes], longest: float = 300.0) -> None:
    deadline = time.monotonic() + longest
    while not re.search(pattern, output.read_text(errors="replace")):
        assert process.poll() is None, output.read_text(errors="replace")[-3000:]
        assert time.monotonic() < deadline, output.read_text(errors="replace")[-3000:]
        time.sleep(0.2)


@pytest.fixture
def world(tmp_path: Path) -> World:
    with only_one_demo(tmp_path, HOURS) as world:
        return world


def test_its_configuration_is_the_projects_own_with_other_times_and_places(world: World) -> None:
    assert faults(world.folder / "conf", "demo") == []
    config = load(world.folder / "conf", "demo")
    assert list(config.sources) == [SOURCE]
    assert {one.name for one in config.monitors_of(SOURCE)} == set(MONITORS)
    assert len({one.question for one in config.monitors_of(SOURCE)}) >= 4
    assert config.source(SOURCE).origin == int(world.origin.timestamp()) * 1_000_000


def test_an_hour_of_files_arrives_at_a_time(world: World) -> None:
    world.generate()
    world.deliver(1)
    world.deliver(1)
    there = sorted((world.folder / "data").rglob("*.csv.gz"))
    assert {path.name[:13] for path in there} == {f"{world.epochs[1]:%Y%m%dT%H%M}"}
    assert len(there) == len([file for file in world.trace.files if file.hour == 1])


def test_a_site_reports_what_cannot_be_in_the_last_hour_but_one(world: World) -> None:
    world.generate()
    bad = [
        file
        for file in world.trace.files
        if (world.folder / "arriving" / file.path).exists()
        and gzip.decompress((world.folder / "arriving" / file.path).read_bytes()).rstrip().endswith(b",-1")
    ]
    assert [file.hour for file in bad] == [HOURS - 2]


def test_two_demos_in_one_place_are_refused(tmp_path: Path) -> None:
    with (
        only_one_demo(tmp_path, HOURS),
        pytest.raises(UsageError, match="another demo is running"),
        only_one_demo(tmp_path, HOURS),
    ):
        pass


@pytest.mark.airflow
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_scheduler_runs_three_epochs_of_the_real_thing_and_a_second_demo_works(tmp_path: Path) -> None:
    home, output = tmp_path / "home", tmp_path / "output"
    # The first is broken off in the middle of an epoch, as by Ctrl-C: its first step has ended, others are to come.
    first = started(home, output)
    try:
        wait_for(output, r"\d\d:\d\d land +success", first)
    finally:
        first.send_signal(signal.SIGINT)
        code = first.wait(LONGEST_END)
    assert code != 0
    assert left_running(home) == []
    second = started(home, output)
    try:
        code = second.wait(900)
    finally:
        if second.poll() is None:
            second.send_signal(signal.SIGINT)
            second.wait(LONGEST_END)
    text = output.read_text(errors="replace")
    assert code == 0, text[-3000:]
    assert left_running(home) == []
    context = Context(load(home / "var/demo/conf", "demo"), home / "var/demo")
    for monitor in context.config.monitors_of(SOURCE):
        # An hour that ends meanwhile may have a run of its own.
        seals = context.lake.ledger.seals(SOURCE, monitor.name)[:HOURS]
        assert len(seals) == HOURS
        assert [after.parent for after in seals[1:]] == [before.digest for before in seals[:-1]]
    for said in (
        "busiest-objects",
        "shipping every count",
        "set aside: site",
        "owed; take them in by `farwatch admit cdn",
        "5 monitors of 5 kept every promise",
        "in quarantine",
        "what to try next",
    ):
        assert said in text
    assert "task in Airflow" in text
