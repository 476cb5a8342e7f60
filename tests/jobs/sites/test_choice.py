"""Where the sites' side of an epoch runs, by what the sites remember."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jobs.sites.choice import Places

MB = 1_000_000


def run_of(epochs: int, state_bytes: int) -> Any:
    past = {at: SimpleNamespace(state_bytes=state_bytes // 4) for at in range(4)}
    return SimpleNamespace(numbers=range(epochs), plan=SimpleNamespace(past=past))


@pytest.mark.parametrize(
    ("epochs", "state_bytes", "in_spark"),
    [(1, 60 * MB, False), (1, 80 * MB, True), (128, 80 * MB, False), (128, 300 * MB, True)],
)
def test_a_range_restores_states_once_and_so_stays_in_the_process_with_larger_ones(
    epochs: int, state_bytes: int, in_spark: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Places, "_arrives_little", lambda *asked: True)
    monkeypatch.setattr(Places, "_recorded", lambda *asked: [])
    run = run_of(epochs, state_bytes)
    run.monitor = SimpleNamespace(name="m")
    context: Any = SimpleNamespace(config=SimpleNamespace(settings=SimpleNamespace(sites_run="auto")))
    places, method = Places(context, Any), Any  # type: ignore[arg-type]
    assert places.observes_in_spark(run, method) is in_spark  # type: ignore[arg-type]
    assert places.asks_spark(run, method, "write") is in_spark  # type: ignore[arg-type]
