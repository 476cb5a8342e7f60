"""A site's epoch is set aside by a check; the commands that `status` prints are run as printed, with Spark."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.jobs.pipeline.deployment import HOUR, ONE_PARTITION, SOURCE, Deployment, Row

pytestmark = [pytest.mark.spark, pytest.mark.long]
GROWING = {"name": "growing", "question": "top-k", "source": "shop", "k": 3, "tolerance": 0, "method": "caching"}
RECENT = GROWING | {"name": "recent", "window": "2h"}
HOURS = 4
WILD = "so 'uth"
ROWS: list[Row] = [
    (hour * HOUR + at, site, "abc"[(hour + at) % 3] if site == "north" else "c", 5)
    for hour in range(HOURS)
    for site, many in (("north", 4), (WILD, 3))
    for at in range(many)
]
ROWS += [(1 * HOUR + 9, WILD, "c", 1_000)]


def exact(first: int, last: int) -> dict[str, float]:
    """Over all events of these hours."""
    sums = Counter(item for second, _, item, _ in ROWS if first <= second // HOUR <= last)
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:3])


def asked(home: Deployment, *words: str) -> dict[str, Any]:
    done = home.command("query", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def answer(found: dict[str, Any]) -> dict[str, float]:
    return {row["key"]: row["estimate"] for row in found["answers"]}


def test_what_is_owed_is_named_and_the_printed_admit_makes_every_answer_right(
    deploy: Callable[..., Deployment],
) -> None:
    source = SOURCE | {"quality": {"ranges": {"value": [0, 100]}}}
    home = deploy(source=source, monitors=(GROWING, RECENT), settings=ONE_PARTITION)
    home.add_file("all.csv", ROWS)
    done = home.command("run", "--source", "shop", "--from", "2020-01-01", "--to", f"2020-01-01T0{HOURS}:00")
    assert done.returncode == 0, done.stderr

    growing = asked(home, "growing")
    assert growing["partial"]
    assert [(one["site"], one["rows"]) for one in growing["owed"]] == [(WILD, 4)]
    assert answer(growing) != exact(0, HOURS - 1)
    for hour, owed in ((0, False), (1, True), (2, True), (3, False)):  # two hours' window: gone in the fourth
        recent = asked(home, "recent", "--epoch", f"2020-01-01T0{hour}:00")
        assert recent["partial"] is owed
        assert owed or answer(recent) == exact(hour - 1, hour)

    status = " ".join(home.command("status").stdout.split())
    [admit] = re.findall(r"`farwatch (admit [^`]+)`", status)
    decided = home.command(*shlex.split(admit))
    assert decided.returncode == 0, decided.stderr
    for name, first in (("growing", 0), ("recent", HOURS - 2)):
        found = asked(home, name)
        assert not found["partial"]
        assert answer(found) == exact(first, HOURS - 1)
    recent = asked(home, "recent", "--epoch", "2020-01-01T01:00")
    assert not recent["partial"]
    assert answer(recent) == exact(0, 1)
    assert "`farwatch admit" not in home.command("status").stdout
