"""The questions about recent windows over odd data, from the trace to the written answers, against a brute-force count.

The trace has silence longer than the windows, bursts, events one microsecond before and at the borders of ticks and
epochs, sites that join late, and odd names.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from jobs.simulation import command as simulate
from monitoring_lib.errors import ConfigError

ORIGIN = datetime(2020, 1, 1, tzinfo=UTC)
EPOCH, SECONDS = 20, 400
Event = tuple[Fraction, str]
"""Seconds from the origin, and the item."""

NUMBERS: dict[str, Any] = {
    "question": "recent-counts", "tick": "1s", "window": "2m", "error": 0.1, "bits": 8,
    "queries": [
        {"name": "seven", "point": 7, "range": "1s"},
        {"name": "zero", "point": "0", "range": "90s"},
        {"name": "top", "heavy_hitters": 0.1, "range": "2m"},
        {"name": "low", "between": [0, 9], "range": "7s"},
        {"name": "all", "between": [0, 255], "range": "2m"},
        {"name": "middle", "quantiles": [0.1, 0.5, 1], "range": "2m"},
        {"name": "skew", "self_join": True, "range": "1m"},
    ],
}  # fmt: skip
JOIN: dict[str, Any] = {"question": "self-join-size", "tick": "1s", "window": "45s", "tolerance": 0.15, "error": 0}
OVER: dict[str, Any] = {
    "question": "over-threshold", "tick": "1s", "window": "45s", "threshold": 10, "slack": 0.1, "error": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    rng, events, lines = Random(1), list[Event](), ["time,site,item"]
    for second in range(SECONDS):
        silent = 120 <= second < 260
        for _ in range(0 if silent else 40 if second % 97 == 19 else rng.randrange(5)):
            fraction = rng.choice([0, 1, 500_000, 999_999])
            site = rng.choice(["a", "b", "c@x", "@d", "ünï"]) if second > 30 else "a"
            item = "7" if second % 97 == 19 else str(int(200 * rng.random() ** 3))
            events.append((second + Fraction(fraction, 1_000_000), item))
            lines.append(f"{(ORIGIN + timedelta(seconds=second, microseconds=fraction)).isoformat()},{site},{item}")
    path = tmp_path_factory.mktemp("odd") / "odd.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path, events


def simulated(tmp_path: Path, trace: Path, monitor: dict[str, Any], **more: Any) -> dict[tuple[str, int], list[Any]]:
    """By method and end of the epoch in seconds, the rows of `answers.parquet`."""
    file = tmp_path / "monitor.yml"
    file.write_text(yaml.safe_dump(monitor), "utf-8")
    result = simulate.run(
        file,
        trace=str(trace),
        epoch=f"{EPOCH}s",
        origin=ORIGIN.isoformat(),
        out=tmp_path / "out",
        home=tmp_path,
        **more,
    )
    assert result.promise_kept
    found: dict[tuple[str, int], list[Any]] = {}
    for row in pq.read_table(tmp_path / "out/answers.parquet").to_pylist():
        row["at"] = (row["tick"] - ORIGIN).total_seconds()
        assert row["low"] <= row["estimate"] <= row["high"]
        found.setdefault((row["method"], int((row["epoch_start"] - ORIGIN).total_seconds()) + EPOCH), []).append(row)
    return found


def counted(events: list[Event], end: float, length: str) -> Counter[str]:
    span = int(length[:-1]) * {"s": 1, "m": 60}[length[-1]]
    return Counter(item for time, item in events if end - span <= time < end)


def check_query(query: dict[str, Any], error: float, rows: dict[str, Any], inside: Counter[str]) -> set[str]:
    """The keys that belong to the query; fails where a promise is broken."""
    total, name = inside.total(), query["name"]
    if "quantiles" in query:
        values = sorted(int(item) for item in inside.elements())
        keys = {f"{name}:{share}" for share in query["quantiles"]} if total else set[str]()
        for share in query["quantiles"] if total else ():
            row = rows[f"{name}:{share}"]
            assert row["low"] <= values[-int(-Fraction(str(share)) * total // 1) - 1] <= row["high"]
            below, up_to = (sum(v <= row["estimate"] - less for v in values) / total for less in (1, 0))
            assert below - error <= share <= up_to + error
        return keys
    if "heavy_hitters" in query:
        found = {key.removeprefix(f"{name}:"): row for key, row in rows.items() if key.startswith(f"{name}:")}
        assert {item for item, n in inside.items() if n > query["heavy_hitters"] * total} <= found.keys()
        ranked = sorted(found.values(), key=lambda row: row["rank"])
        assert [row["rank"] for row in ranked] == list(range(1, len(found) + 1))
        assert [row["estimate"] for row in ranked] == sorted((row["estimate"] for row in ranked), reverse=True)
        for item, row in found.items():
            assert total > 0
            assert inside[item] >= (query["heavy_hitters"] - 2 * error) * total
            assert row["low"] <= inside[item] <= row["high"]
        return {f"{name}:{item}" for item in found}
    allowed = error * total
    if "point" in query:
        exact = inside[str(query["point"])]
    elif "between" in query:
        exact = sum(n for item, n in inside.items() if query["between"][0] <= int(item) <= query["between"][1])
    else:
        exact, allowed = sum(n * n for n in inside.values()), error * total**2
    row = rows[name]
    assert row["rank"] is None
    assert row["low"] <= exact <= row["high"]
    assert abs(row["estimate"] - exact) <= allowed + 1e-9
    return {name}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"counter": "eh"}, 0.1),
        ({"counter": "dw", "levels": 2}, 0.1),
        ({"counter": "rw"}, 0.5),
        ({"counter": "eh", "every": 3, "levels": 3}, 0.2),
    ],
    ids=str,
)
def test_recent_counts(odd: tuple[Path, list[Event]], tmp_path: Path, options: dict[str, Any], error: float) -> None:
    trace, events = odd
    queries = [query for query in NUMBERS["queries"] if options["counter"] != "rw" or query["name"] in ("zero", "top")]
    monitor = NUMBERS | {"queries": queries, "error": error, "options": {"merged": options}}
    answers = simulated(tmp_path, trace, monitor, methods="all")
    assert len(answers) == 2 * SECONDS // EPOCH
    for (method, end), rows in answers.items():
        [at] = {row["at"] for row in rows}
        assert at == end or (method == "merged" and end - 3 * EPOCH < at < end and options.get("every"))
        by_key = {row["key"]: row for row in rows}
        assert len(by_key) == len(rows)
        expected = set[str]()
        for query in queries:
            off = 0.0 if method == "every-update" else error
            expected |= check_query(query, off, by_key, counted(events, at, query["range"]))
        assert set(by_key) == expected
        assert method == "merged" or all(row["low"] == row["high"] and row["confidence"] == 1 for row in rows)


@pytest.mark.parametrize("error", [0, 0.05])
@pytest.mark.parametrize("window", ["7s", "45s", "100m"])
def test_self_join_size(odd: tuple[Path, list[Event]], tmp_path: Path, error: float, window: str) -> None:
    trace, events = odd
    answers = simulated(tmp_path, trace, JOIN | {"error": error, "window": window}, methods="all")
    assert len(answers) == 4 * SECONDS // EPOCH
    for (method, end), [row] in answers.items():
        inside = counted(events, end, window)
        size, total = sum(n * n for n in inside.values()), inside.total()
        assert (row["key"], row["rank"], row["at"], row["partial"]) == ("", None, end, False)
        assert row["low"] <= size <= row["high"]
        assert (row["estimate"] == 0) == (total == 0)
        shrunk = (2 - (1 + error) ** 0.5) ** 2 if error else 1
        assert row["estimate"] >= 0.85 * shrunk * size * (1 - 1e-12)
        assert row["estimate"] <= 1.15 * (size + error * total**2) * (1 + 1e-12)
        assert method != "every-update" or row["estimate"] == size


@pytest.mark.parametrize("error", [0, 0.02])
@pytest.mark.parametrize("threshold", [0.5, 10])
def test_over_threshold(odd: tuple[Path, list[Event]], tmp_path: Path, error: float, threshold: float) -> None:
    trace, events = odd
    answers = simulated(tmp_path, trace, OVER | {"error": error, "threshold": threshold}, methods="all")
    for end in range(EPOCH, SECONDS + 1, EPOCH):
        inside = counted(events, end, "45s")
        for method in ("local-tests", "every-update"):
            rows = {row["key"]: row for row in answers.get((method, end), ())}
            sure = {item for item, n in inside.items() if (1 - error) * n >= threshold * 1.1}
            never = {item for item in rows if inside[item] + error * inside.total() < threshold * 0.9}
            assert sure <= rows.keys()
            assert not never
            for item, row in rows.items():
                assert row["rank"] is None
                assert row["low"] <= inside[item] <= row["high"]


@pytest.mark.parametrize(
    ("monitor", "key"),
    [
        (NUMBERS | {"window": "growing"}, "window"),
        (NUMBERS | {"reset": "1h"}, "reset"),
        (NUMBERS | {"window": "1500ms"}, "window"),
        (NUMBERS | {"error": 0}, "error"),
        (NUMBERS | {"queries": [{"name": "x", "point": "x", "range": "3m"}], "bits": None}, "queries[0].range"),
        (NUMBERS | {"queries": [{"name": "x", "quantiles": [0.5, 0.5], "range": "1m"}]}, "queries[0].quantiles"),
        (NUMBERS | {"queries": [{"name": "x", "quantiles": [0], "range": "1m"}]}, "queries[0].quantiles[0]"),
        (NUMBERS | {"queries": [{"name": "x", "between": [0, 256], "range": "1m"}]}, "queries[0].between"),
        (NUMBERS | {"queries": []}, "queries"),
        (NUMBERS | {"options": {"merged": {"counter": "rw"}}}, "options.merged.counter"),
        (NUMBERS | {"options": {"merged": {"every": 0}}}, "options.merged.every"),
        (JOIN | {"tolerance": 1}, "tolerance"),
        (JOIN | {"tolerance": 0}, "tolerance"),
        (JOIN | {"window": "growing"}, "window"),
        (JOIN | {"measure": "sum(value)"}, "measure"),
        (JOIN | {"error": 1}, "error"),
        (OVER | {"threshold": 0}, "threshold"),
        (OVER | {"slack": 1}, "slack"),
        (OVER | {"window": "10 events"}, "window"),
    ],
)
def test_a_fault_names_its_key(
    odd: tuple[Path, list[Event]], tmp_path: Path, monitor: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        simulated(tmp_path, odd[0], {name: value for name, value in monitor.items() if value is not None})
    assert f" {key}: " in str(raised.value)
