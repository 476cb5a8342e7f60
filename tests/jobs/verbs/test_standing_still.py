"""A coordinator whose state stands still for some epochs and then changes: the epoch is checked and sealed."""

from __future__ import annotations

from pathlib import Path

from jobs.epoch.memory import oldest_base
from tests.jobs.sealed_home import SealedHome, bought

SKEW = {
    "name": "skew", "question": "self-join-size", "source": "shop", "tick": "1h", "window": "3h", "tolerance": 0.15,
    "error": 0,
}  # fmt: skip
QUIET = 5
"""Epochs without a message."""


def test_a_change_after_quiet_epochs_continues_the_base_before_them(tmp_path: Path) -> None:
    many = "".join(chr(ord("a") + at) for at in range(26)) * 4
    home = SealedHome(tmp_path, monitors=(SKEW,))
    for hour in range(QUIET + 4):
        home.land(bought(hour, north=many, south=many + ("z" * 400 if hour == QUIET + 2 else "")))
        home.run(hour, hour + 1)
    assert oldest_base() > QUIET
    assert "epoch 2020-01-01T08:00Z" in home.command("query", "skew").stdout
