"""A trace under many seeds: draws run side by side, and each says what it would say alone."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from jobs.simulation import command, seeds
from jobs.simulation.simulate import Result
from monitoring_lib.promises import broken_shares

MONITOR = """\
question: distinct-count
item: item
error: 0.5
confidence: 0.6
shadow: [exact]
options: {{repaid-sharing: {{seed: {seed}}}}}
"""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))
    rng, path = Random(3), tmp_path / "trace.csv"
    lines = [f"2024-05-01T00:00:{rng.randrange(60):02}Z,{rng.choice('abc')},{rng.randrange(400)}" for _ in range(900)]
    path.write_text("\n".join(["time,site,item", *sorted(lines), ""]), "utf-8")
    return path


def simulated(trace: Path, seed: int, number: int) -> Result:
    monitor = trace.with_name(f"m{seed}.yml")
    monitor.write_text(MONITOR.format(seed=seed), "utf-8")
    return command.run(monitor, trace=str(trace), epoch="10s", seeds=number)


def test_each_draw_says_what_it_says_alone_in_batches_of_any_size(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = []
    for seed in range(5, 12):
        alone += broken_shares(simulated(trace, seed, 1).seeded.runs["repaid-sharing"])[0.6]
    assert len(set(alone)) > 1
    for size in (2, 10):
        monkeypatch.setattr(seeds, "MOST_AT_ONCE", size)
        together = simulated(trace, 5, 7)
        assert broken_shares(together.seeded.runs["repaid-sharing"])[0.6] == alone
        assert {outcome.method for outcome in together.outcomes} == {"repaid-sharing", "exact"}
        assert "exact" not in together.seeded.runs


def test_further_seeds_leave_costs_and_answers_of_the_first_as_they_are(trace: Path) -> None:
    one, many = simulated(trace, 5, 1), simulated(trace, 5, 4)
    assert one.shipping == many.shipping
    assert [(o.cost, list(o.answers)) for o in one.outcomes] == [(o.cost, list(o.answers)) for o in many.outcomes]
