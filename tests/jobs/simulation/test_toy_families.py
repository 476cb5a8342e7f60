"""`farwatch simulate` carries every kind of family that is installed, and says what plain counting says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.simulation import command as simulate
from jobs.simulation.simulate import MethodOutcome, Result
from monitoring_lib.answers import Answer
from monitoring_lib.epochs import parse_time
from monitoring_lib.errors import ConfigError
from monitoring_lib.network import Message
from monitoring_lib.replay import Step

pytestmark = pytest.mark.usefixtures("toys")

SECOND = 1_000_000
START = "2024-05-01"
Event = tuple[int, str, str, str, str]
"""Second, site, item, by, value ('' is null)."""


@dataclass
class Simulation:
    """What `simulate` did with a monitor, epoch by epoch."""

    result: Result
    steps: list[Step]

    def answers(self, method: str) -> list[tuple[int, Answer]]:
        """With the second since the start that each holds for."""
        begin = parse_time(START)
        return [
            ((row.tick - begin) // SECOND, row)
            for step in self.steps
            if step.method == method
            for row in step.settled.answers
        ]

    def series(self, method: str) -> list[tuple[int, float]]:
        return [(at, row.estimate) for at, row in self.answers(method)]

    @property
    def last_messages(self) -> list[Message]:
        return self.steps[-1].settled.messages


Simulate = Callable[..., Simulation]


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulate:
    """Runs a question over events in epochs of 10 seconds; every promise must be kept."""
    steps: list[Step] = []
    take = MethodOutcome.take
    monkeypatch.setattr(MethodOutcome, "take", lambda outcome, step: (steps.append(step), take(outcome, step))[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))

    def simulated(question: str, events: Iterable[Event], text: str = "", **more: Any) -> Simulation:
        Path("monitor.yml").write_text(f"question: {question}\n{text}", "utf-8")
        lines = [f"{START}T00:{at // 60:02}:{at % 60:02}Z,{','.join(texts)}" for at, *texts in events]
        Path("trace.csv").write_text("\n".join(["time,site,item,by,value", *lines, ""]), "utf-8")
        steps.clear()
        result = simulate.run(Path("monitor.yml"), trace="trace.csv", epoch="10s", origin=START, **more)
        assert result.promise_kept
        assert all(outcome.verdicts for outcome in result.outcomes)
        return Simulation(result, list(steps))

    return simulated


def test_two_keys_are_counted_as_pairs(simulated: Simulate) -> None:
    events = [(1, "a", "x", "1", "1"), (2, "b", "x", "1", "1"), (3, "b", "x", "2", "1"), (12, "a", "y", "1", "1")]
    assert simulated("distinct-pairs", events, "by: by\n").series("telling-pairs") == [(10, 2), (20, 3)]


def test_a_question_that_needs_a_second_key_says_so(simulated: Simulate) -> None:
    with pytest.raises(ConfigError, match="by"):
        simulated("distinct-pairs", [(1, "a", "x", "1", "1")])


@pytest.mark.parametrize(("measure", "means"), [("last(value)", [25, 20, 7]), ("mean(value)", [22.5, 20, 7])])
def test_a_null_is_no_reading_and_a_tick_without_one_has_no_row(
    simulated: Simulate, measure: str, means: list[float]
) -> None:
    events = [
        (0, "a", "m1", "", "10"), (1, "a", "m1", "", "20"), (1, "b", "m2", "", "30"), (1, "b", "m2", "", ""),
        (6, "a", "m1", "", "20"), (7, "b", "m2", "", ""), (11, "b", "m2", "", ""), (13, "a", "m1", "", "7"),
    ]  # fmt: skip
    found = simulated("mean-reading", events, f"measure: {measure}\nwindow: 10s\ntick: 5s\n")
    assert found.series("adding-up") == list(zip((5, 10, 15), means, strict=True))


def test_a_sketch_is_judged_against_exact_items_beside_its_exact_shadow(simulated: Simulate) -> None:
    events = [(second, f"s{second % 3}", str(second * 7919 % 41), "", "1") for second in range(60)]
    text = "shadow: [exact]\noptions: {sketching: {bitmaps: 256}}\n"
    found = simulated("distinct-items", events, text)
    exact = [len({item for at, _, item, _, _ in events if at < end}) for end in range(10, 61, 10)]
    assert found.series("exact") == list(zip(range(10, 61, 10), exact, strict=True))
    sketched = [row for _, row in found.answers("sketching")]
    assert {row.confidence for row in sketched} == {0.95}
    assert any(row.estimate != round(row.estimate) for row in sketched), "it is an estimate"
    assert all(abs(row.estimate - count) <= 0.2 * count + 1 for row, count in zip(sketched, exact, strict=True))
    assert simulated("distinct-items", events, text, seeds=3).result.promise_kept


def test_a_range_of_ticks_slides_over_the_ends_of_epochs(simulated: Simulate) -> None:
    events = [(second, "a" if second % 2 else "b", "x" if second % 3 else "y", "", "1") for second in range(30)]
    found = simulated("recent-count", events, "watched: x\nrange: 12\nwindow: 20s\ntick: 1s\n")
    exact = {end: sum(item == "x" for at, _, item, _, _ in events if end - 12 <= at < end) for end in (10, 20, 30)}
    rows = found.answers("sketched-ranges")
    assert [at for at, _ in rows] == [10, 20, 30]
    assert all(row.low <= exact[at] <= row.high for at, row in rows)


def test_a_tree_counts_all_events_while_sites_join_and_branches_are_silent(simulated: Simulate) -> None:
    events = [(10 * (site // 3), f"s{site}", "x", "", "1") for site in range(9)]
    events += [(40, "s8", "x", "", "1"), (51, "s0", "x", "", "1")]
    found = simulated("event-total", sorted(events))
    assert found.series("growing-tree") == [(10, 3), (20, 6), (30, 9), (40, 9), (50, 10), (60, 11)]
    assert [message.round for message in found.last_messages] == [0, 1, 2, 3], "one site spoke, one message a level"


def test_a_broadcast_is_one_row_and_counts_once_for_each_link(simulated: Simulate) -> None:
    events = [(0, "a", "x", "", "1"), (0, "b", "x", "", "1"), (0, "c", "x", "", "1"), (11, "a", "x", "", "1")]
    found = simulated("shared-total", events)
    assert {(row.node, at, row.estimate) for at, row in found.answers("broadcasting")} == {
        (node, at, total) for node in "abc" for at, total in ((10, 3), (20, 4))
    }
    (late,) = found.last_messages
    assert late.receivers == ("b", "c")
    assert (late.entries, late.bytes) == (2, 2 * len(late.payload))
    cost = found.result.outcomes[0].cost
    assert cost.entries == sum(message.entries for step in found.steps for message in step.settled.messages)
