"""The README's recipe for a new family, followed word by word: what it says to write is found, lawful, and answers."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import monitoring_lib.protocols as protocols
import tests.laws.questions as questions
from jobs.simulation import command as simulate
from monitoring_lib.epochs import Clock
from monitoring_lib.methods import Method
from monitoring_lib.replay import Replay
from monitoring_lib.summaries import Cell
from tests.laws import test_method_laws as laws
from tests.laws.applying import apply_laws, feed_junk
from tests.laws.grouping import synopsis_of
from tests.laws.questions import EPOCH, makers

PLACES = {"monitoring_lib/protocols": protocols, "tests/laws/questions": questions}
BLOCK = re.compile(r"```(?:python|yaml)\n# (\S+)\n(.*?)```", re.DOTALL)


def blocks(project: Path) -> dict[str, str]:
    """The text of each file that the recipe says to write."""
    readme = (project / "README.md").read_text("utf-8")
    recipe = readme[readme.index("## A new family") : readme.index("## More")]
    return dict(BLOCK.findall(recipe))


@pytest.fixture
def family(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Method]]:
    """The family, written into folders beside those that the recipe names."""
    for path, text in blocks(project).items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    for folder, package in PLACES.items():
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / folder)])
    known = set(sys.modules)
    importlib.invalidate_caches()
    protocols.methods.cache_clear()
    makers.cache_clear()
    yield protocols.find_method("total", "slack")
    monkeypatch.undo()
    for module in set(sys.modules) - known:
        if re.match(r"(monitoring_lib\.protocols|tests\.laws\.questions)\.total\b", module):
            del sys.modules[module]
    protocols.methods.cache_clear()
    makers.cache_clear()
    laws.recorded.cache_clear()


def test_the_recipe_has_every_file_that_it_speaks_of(project: Path) -> None:
    assert list(blocks(project)) == [
        "monitoring_lib/protocols/total/question.py", "monitoring_lib/protocols/total/slack.py",
        "monitoring_lib/protocols/total/__init__.py", "tests/laws/questions/total.py",
        "conf/base/monitors/all-bytes.yml",
    ]  # fmt: skip


def test_the_code_of_the_recipe_is_in_the_style_of_the_project(project: Path) -> None:
    # Modules that are not there yet count as others' when imports are sorted, so that is left out.
    for path, text in blocks(project).items():
        for command in (["check", "--ignore", "I001"], ["format", "--check"]) if path.endswith(".py") else ():
            ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--stdin-filename", path, "-"]
            ended = subprocess.run(ruff, cwd=project, input=text, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, (path, ended.stdout, ended.stderr)


def test_the_family_is_found_beside_the_others(family: type[Method]) -> None:
    assert ("total", "slack") in protocols.methods()
    assert ("top-k", "caching") in protocols.methods()
    assert protocols.find_question("total").default_method == family.name
    assert "total" in makers()


def test_the_family_keeps_the_laws(family: type[Method]) -> None:
    apply_laws(family)


def test_junk_in_place_of_its_letters_and_states_is_refused(family: type[Method]) -> None:
    feed_junk(family)


def test_the_family_answers_in_a_replay(family: type[Method]) -> None:
    maker, rng = makers()["total"], Random(3)
    method = family(maker.ask(rng, family))
    replay, clock = Replay(Clock(0, EPOCH), [method]), Clock(0, EPOCH)
    exact: list[int] = []
    for epoch in range(12):
        cells = [Cell(f"s{n}", epoch, clock.start_of(epoch), clock.end_of(epoch), EPOCH) for n in range(3)]
        events = {cell: maker.events(rng, method.ask, cell) for cell in cells}
        exact.append(sum(event["value"] for found in events.values() for event in found))
        (summary,) = replay.summaries
        synopses = {cell.site: synopsis_of(summary, cell, found) for cell, found in events.items()}
        (step,) = replay.step(epoch, dict.fromkeys(synopses, ()), {summary: synopses})
        (row,) = step.settled.answers
        landed = sum(exact[member] for member in method.ask.window.members(epoch)) / method.ask.scale
        assert row.low <= landed <= row.high
        assert [verdict.kept for verdict in step.verdicts] == [True]


def test_the_monitor_of_the_recipe_can_be_simulated(
    family: type[Method], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARWATCH_CONF", str(project / "conf"))
    lines = [f"2026-01-01T{hour:02}:10:00Z,site {hour % 3},object,{1000 * hour}" for hour in range(24)]
    Path("trace.csv").write_text("\n".join(["time,site,item,value", *lines, ""]), "utf-8")
    monitor = tmp_path / "conf/base/monitors/all-bytes.yml"
    result = simulate.run(monitor, trace="trace.csv", epoch="1h")
    assert result.promise_kept
    assert result.promise == "within 1000 a site (always)"
    (outcome,) = result.outcomes
    (row,) = outcome.answers
    assert row.low <= 1000 * (21 + 22 + 23) <= row.high
    assert row.high - row.low == 2 * 1000 * 3
