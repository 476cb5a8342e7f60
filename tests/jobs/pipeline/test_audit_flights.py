"""A clean month of flights with missing and late sites: the audit finds nothing, whatever is asked."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.verbs.audit import audit
from tests.jobs.pipeline.deployment import ONE_PARTITION, Deployment

pytestmark = [pytest.mark.spark, pytest.mark.long]
FLIGHTS = {
    "name": "flights", "format": "csv", "path": "data/*.csv", "epoch": "1d", "origin": "2001-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
    "quality": {"freshness": 0}, "late": {"horizon": "20d", "revise": "auto"},
}  # fmt: skip
MONITORS = (
    {"name": "week", "question": "top-k", "source": "flights", "k": 10, "tolerance": 50, "window": "7d"},
    {"name": "ever", "question": "top-k", "source": "flights", "k": 10, "tolerance": 50, "method": "caching"},
    {"name": "everywhere", "question": "top-k-everywhere", "source": "flights", "k": 5, "window": "3d"},
    {"name": "frequent", "question": "frequent-items", "source": "flights", "support": 0.02, "error": 0.004,
     "decay": 0.9, "tree": {"fanout": 6}},
    {"name": "distinct", "question": "distinct-count", "source": "flights", "error": 0.1},
)  # fmt: skip
SILENT, LATE = "ABQ", "ATL"


def deal(traces: Path, folder: Path, days: int) -> list[str]:
    """A file a day; one site is silent for two days, the fourth day of another lies in a file of its own: its lines."""
    header, late, by_day = "", [], dict[int, list[str]]()
    with lzma.open(traces / "flights_2001_jan-apr.csv.xz", "rt") as trace:
        header = next(trace)
        at = header.strip().split(",").index("site")
        for line in trace:
            day = int(line[8:10])
            if line[:7] != "2001-01" or day > days:
                break
            site = line.split(",")[at]
            if site == LATE and day == 4:
                late.append(line)
            elif site != SILENT or day not in (6, 7):
                by_day.setdefault(day, []).append(line)
    for day, lines in by_day.items():
        (folder / f"{day:02}.csv").write_text(header + "".join(lines), encoding="utf-8")
    return [header, *late]


def audited(deploy: Callable[..., Deployment], traces: Path, days: int) -> None:
    home = deploy(source=FLIGHTS, monitors=MONITORS, settings=ONE_PARTITION)
    late = deal(traces, home.home / "data", days)
    assert len(late) > 100
    half = days // 2 + 1
    home.run(0, half)
    (home.home / "data" / "late.csv").write_text("".join(late), encoding="utf-8")
    home.run(half, days)
    seals = home.context().lake.ledger.seals("flights", "week")
    assert SILENT in seals[5].missing_sites
    assert seals[3].revision == 1
    found = audit(home.context(), "flights")
    assert list(found.problems()) == []
    assert {one.monitor: one.kept for one in found.monitors.values()} == {one["name"]: days for one in MONITORS}


def test_ten_days_of_flights(deploy: Callable[..., Deployment], traces: Path) -> None:
    audited(deploy, traces, 10)


def test_a_month_of_flights(deploy: Callable[..., Deployment], traces: Path) -> None:
    audited(deploy, traces, 30)
