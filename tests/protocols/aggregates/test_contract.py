"""`farwatch simulate` over files with all that goes wrong in data, held against plain loops over the files' rows."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from jobs.simulation import command as simulate
from monitoring_lib.errors import ConfigError, DataError

EPOCH, TICK, SCALE = 60, 10, 100
METHODS = ("waterfill", "uniform", "none", "text", "quiet", "curves", "optimised")
OBJECTS = {"a": ["a1", "7"], "b": ["b'1"], "ü c": ["x,\ny", "é/1"], "late": ["L1"], "never": []}
NAMES = [name for names in OBJECTS.values() for name in names] + ["nobody"]
Row = tuple[str, str, str, str]
"""Time, site, item and value as they stand in a file."""


def rows_of(rng: Random) -> list[Row]:
    """Walks with gaps, several readings a tick, equal times, empty values, NaN and infinities."""
    rows: list[Row] = []
    for site, names in OBJECTS.items():
        begin = 175 if site == "late" else 0
        for name in names:
            value = rng.randint(-500, 500)
            for tenth in range(10 * begin, 3600, 35):
                if rng.random() < 0.3:
                    continue
                for _ in range(rng.choice([1, 1, 2, 3])):
                    value += rng.randint(-40, 40)
                    text = rng.choice([f"{value / SCALE:.2f}"] * 12 + ["", "NaN", "inf", "-Infinity", "1e999"])
                    rows.append((f"{tenth / 10:g}", site, name, text))
    rows.append(("599.999999", "never", "nobody-reads", ""))
    return rows


def write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text)
        writer.writerow(["time", "site", "item", "value"])
        writer.writerows(rows)


def reduced(readings: Sequence[tuple[Fraction, int, int, Fraction]], how: str) -> int:
    """In hundredths; `readings` are time, file, line and value."""
    values = [reading[3] for reading in sorted(readings, key=lambda reading: reading[:3])]
    if how == "last":
        return int(values[-1] * SCALE)
    if how == "mean":
        return round(sum(values, Fraction(0)) * SCALE / len(values))  # of a Fraction: halves to even
    return int({"sum": sum, "min": min, "max": max}[how](values) * SCALE)  # type: ignore[operator]


def by_tick(files: Mapping[str, Sequence[Row]], value: str) -> dict[str, dict[int, int]]:
    """By object and tick: its reading in steps."""
    how = value.split("(", maxsplit=1)[0]
    cells: dict[tuple[str, int], list[tuple[Fraction, int, int, Fraction]]] = {}
    for number, path in enumerate(sorted(files)):
        for line, (time, _, name, text) in enumerate(files[path]):
            finite = text != "" and math.isfinite(float(text))
            if finite or value == "count":  # a monitor that counts events reads no value
                at = Fraction(time)
                reading = at, number, line, Fraction(text) if finite else Fraction(0)
                cells.setdefault((name, int(at // TICK)), []).append(reading)
    found: dict[str, dict[int, int]] = {}
    for (name, tick), readings in cells.items():
        found.setdefault(name, {})[tick] = len(readings) if how == "count" else reduced(readings, how)
    return found


def exact(readings: Mapping[str, Mapping[int, int]], value: str, queries: Any, ticks: int) -> dict[Any, Fraction]:
    """By the end of a tick in microseconds and query, in units of the measure."""
    holds = value.split("(", maxsplit=1)[0] not in ("sum", "count")
    scale = 1 if value.startswith("count") else SCALE
    now: dict[str, int] = {}
    found: dict[Any, Fraction] = {}
    for tick in range(ticks):
        for name, cells in readings.items():
            if tick in cells:
                now[name] = cells[tick]
            elif name in now and not holds:
                now[name] = 0
        for query in queries:
            named = query.get("weights", query.get("objects"))
            part = {name: v for name, v in now.items() if named is None or name in map(str, named)}
            if not part:
                continue
            weights = {str(name): Fraction(str(w)) for name, w in query.get("weights", {}).items()}
            total = sum((weights.get(name, Fraction(1)) * v for name, v in part.items()), Fraction(0))
            found[(tick + 1) * TICK * 1_000_000, str(query["name"])] = {
                "sum": total / scale, "avg": total / len(part) / scale, "count": Fraction(len(part)),
                "min": Fraction(min(part.values()), scale), "max": Fraction(max(part.values()), scale),
            }[query["ask"]]  # fmt: skip
    return found


def random_queries(rng: Random) -> list[dict[str, Any]]:
    queries: list[dict[str, Any]] = [{"name": 0, "ask": "count"}]
    for number in range(1, rng.choice([2, 6, 12])):
        query: dict[str, Any] = {"name": number, "ask": rng.choice(["sum", "avg", "min", "max", "count", "sum"])}
        some = rng.sample(NAMES, rng.randint(0, 6))
        if query["ask"] == "sum" and rng.random() < 0.5:
            query["weights"] = {name: rng.choice([2, -1, 0, 0.25, -3.5]) for name in some}
        elif rng.random() < 0.6:
            query["objects"] = [int(name) if name == "7" else name for name in some]
        if rng.random() < 0.85:
            query["precision"] = rng.choice([0, 0.01, 0.5, 1, 4, 20.333])
        queries.append(query)
    return queries


def run(tmp_path: Path, monitor: Mapping[str, Any], **given: Any) -> list[dict[str, Any]]:
    path = tmp_path / "m.yml"
    path.write_text(yaml.safe_dump(dict(monitor), allow_unicode=True), "utf-8")
    scale = None if monitor["value"] == "count" else SCALE
    given = {"trace": str(tmp_path / "*.csv"), "epoch": f"{EPOCH}s", "scale": scale, "out": tmp_path / "out"} | given
    result = simulate.run(path, **given)
    assert sum(outcome.broken for outcome in result.outcomes) == 0
    table = pq.read_table(tmp_path / "out" / "answers.parquet")
    ticks = table["tick"].cast(pa.int64())  # microseconds
    found: list[dict[str, Any]] = table.set_column(table.schema.get_field_index("tick"), "tick", ticks).to_pylist()
    return found


@pytest.mark.parametrize(
    "value", ["last(value)", "mean(value)", "sum(value)", "min(value)", "max(value)", "count", "count(value)"]
)
def test_every_row_of_every_method_is_right_on_odd_files(value: str, tmp_path: Path) -> None:
    rng = Random(value)
    rows = rows_of(rng)
    rng.shuffle(rows)
    files = {"1.csv": rows[::2], "2.csv": rows[1::2]}
    for name, part in files.items():
        write(tmp_path / name, part)
    queries = random_queries(rng)
    monitor = {
        "question": "aggregates", "object": "item", "value": value, "tick": f"{TICK}s", "queries": queries,
        "publish": "tick", "shadow": list(METHODS[1:]),
        "options": {name: {"filter": rng.choice(["runs", "recentre"])} for name in METHODS},
    }  # fmt: skip
    expected = exact(by_tick(files, value), value, queries, 600 // TICK)
    precisions = {str(query["name"]): query.get("precision") for query in queries}
    steps = {
        str(query["name"]): SCALE if not value.startswith("count") and query["ask"] != "count" else 1
        for query in queries
    }
    found: dict[str, dict[Any, Any]] = {}
    for row in run(tmp_path, monitor, methods="all"):
        found.setdefault(row["method"], {})[row["tick"], row["key"]] = row
    assert set(found) == set(METHODS)
    for method, answers in found.items():
        assert answers.keys() == expected.keys()
        for key, row in answers.items():
            assert row["low"] <= float(expected[key]) <= row["high"], (method, row, expected[key])
            assert row["low"] <= row["estimate"] <= row["high"]
            assert (row["confidence"], row["partial"], row["rank"]) == (1.0, False, None)
            if (precision := precisions[key[1]]) is not None:
                most = Fraction(str(precision)) + Fraction(1, 10**9 * steps[key[1]])
                assert Fraction(row["high"]) - Fraction(row["low"]) <= most, (method, row)


def test_a_reading_with_a_null_value_is_none_and_last_goes_by_time_then_file_then_line(tmp_path: Path) -> None:
    write(tmp_path / "b.csv", [("5", "s", "x", "3"), ("1", "s", "x", "9"), ("61", "s", "x", ""), ("9.5", "s", "y", "")])
    write(tmp_path / "a.csv", [("5", "s", "x", "1"), ("5", "s", "x", "2"), ("70", "s", "z", "nan")])
    queries = [{"name": "x", "ask": "sum", "precision": 0}, {"name": "n", "ask": "count"}]
    rows = run(tmp_path, {"question": "aggregates", "object": "item", "value": "last(value)", "queries": queries})
    assert [(row["tick"], row["key"], row["estimate"]) for row in rows] == [
        (60_000_000, "x", 3), (60_000_000, "n", 1), (120_000_000, "x", 3), (120_000_000, "n", 1),
    ]  # fmt: skip


def test_means_are_rounded_to_the_step_with_halves_to_even(tmp_path: Path) -> None:
    pairs = {"up": ("0.01", "0.02"), "down": ("0.02", "0.03"), "minus": ("-0.01", "-0.02"), "far": ("-0.03", "-0.04")}
    write(tmp_path / "m.csv", [("1", "s", name, value) for name, pair in pairs.items() for value in pair])
    queries = [{"name": name, "ask": "sum", "objects": [name], "precision": 0} for name in pairs]
    rows = run(tmp_path, {"question": "aggregates", "object": "item", "value": "mean(value)", "queries": queries})
    assert {row["key"]: row["low"] for row in rows} == {"up": 0.02, "down": 0.02, "minus": -0.02, "far": -0.04}


@pytest.mark.parametrize(
    "rows", [[("1", "a", "x", "1"), ("2", "b", "x", "1")], [("1", "a", "x", "1"), ("99", "b", "x", "1")]]
)
def test_an_object_at_two_sites_fails_by_name_in_the_same_epoch_or_later(rows: list[Row], tmp_path: Path) -> None:
    write(tmp_path / "t.csv", rows)
    monitor = {"question": "aggregates", "object": "item", "value": "count", "queries": [{"name": "n", "ask": "count"}]}
    with pytest.raises(DataError, match=r"'x' shows up at site 'b' and lives at 'a'"):
        run(tmp_path, monitor)
    rows_apart = run(tmp_path, {**monitor, "object": "concat(site, '/', item)"})
    assert rows_apart[-1]["estimate"] == 2


def test_events_that_where_drops_are_no_readings_but_their_site_is_known(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", [("1", "a", "x", "1"), ("2", "b", "y", "100"), ("3", "b", "z", "5")])
    monitor = {
        "question": "aggregates", "object": "item", "value": "last(value)", "where": "value < 50",
        "queries": [{"name": "top", "ask": "max", "precision": 0}, {"name": "n", "ask": "count"}],
    }  # fmt: skip
    assert {row["key"]: row["high"] for row in run(tmp_path, monitor)} == {"top": 5, "n": 2}


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("window", "5m", "window"), ("reset", "5m", "reset"), ("queries", [], "queries"), ("tick", "7s", "tick"),
        ("queries", [{"name": "q", "ask": "sum", "precision": -1}], "precision"), ("value", "median(value)", "value"),
        ("queries", [{"name": "q", "ask": "avg", "weights": {"x": 1}}], "weights"), ("budget", 0, "budget"),
        ("object", "concat(site", "object"), ("object", "", "object"), ("measure", "sum(value)", "measure"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_a_fault_of_the_file_that_names_the_key(
    key: str, value: Any, named: str, tmp_path: Path
) -> None:
    write(tmp_path / "t.csv", [("1", "a", "x", "1")])
    monitor = {"question": "aggregates", "object": "item", "value": "count", "queries": [{"name": "n", "ask": "count"}]}
    with pytest.raises(ConfigError, match=named):
        run(tmp_path, {**monitor, key: value})


def test_a_budget_shows_the_precision_that_it_buys(tmp_path: Path) -> None:
    rng = Random(5)
    value, rows = 0, []
    for tick in range(3600):
        value += rng.randint(-30, 30)
        rows.append((str(tick), "s", f"o{tick % 10}", f"{value / SCALE:.2f}"))
    write(tmp_path / "t.csv", rows)
    monitor = {
        "question": "aggregates", "object": "item", "value": "last(value)", "tick": "1s", "budget": 20,
        "queries": [{"name": "s", "ask": "sum"}, {"name": "m", "ask": "max"}],
    }  # fmt: skip
    widths = {row["tick"]: row["high"] - row["low"] for row in run(tmp_path, monitor) if row["key"] == "s"}
    assert widths[min(widths)] == 0
    assert all(0 < width < math.inf for tick, width in widths.items() if tick > 600_000_000)
    entries = pq.read_table(tmp_path / "out" / "messages.parquet", columns=["epoch_start", "entries"]).to_pandas()
    spent = entries.groupby("epoch_start")["entries"].sum()
    assert spent.iloc[20:].mean() <= 22
