"""What a monitor of distinct-count says of odd data, through `farwatch simulate`, held against plain sets."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jobs.simulation import command
from monitoring_lib.errors import ConfigError

LONG = "ü" * 5000
EVENTS = [
    (0, "a", "x"), (1, "b", "x"), (12, "a", LONG), (13, "c", LONG + "1"), (14, "c", 'quoted "\n,'),
    (45, "a", " "), (46, "b", "\u00e9"), (47, "b", "e\u0301"), (48, "a", "x"),
]  # fmt: skip
METHODS = ("repaid-sharing", "no-sharing", "shared-count", "shared-sketch", "lazily-shared-sketch", "exact")
SKETCHES = ("sketch: hll", "sketch: cpc", "encoding: whole", "encoding: items", "estimator: pcsa", "lag: 0.03")


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The answer rows of a monitor over `EVENTS`, in epochs of 10 seconds."""
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))

    def rows(text: str) -> list[dict[str, Any]]:
        (tmp_path / "m.yml").write_text(f"question: distinct-count\nitem: item\nerror: 0.1\n{text}", "utf-8")
        with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
            lines = ((f"2024-05-01T00:00:{at:02}Z", site, item, "", 1) for at, site, item in EVENTS)
            csv.writer(file).writerows([("time", "site", "item", "src", "value"), *lines])
        command.run(
            tmp_path / "m.yml", trace=str(tmp_path / "t.csv"), epoch="10s", origin="2024-05-01", out=tmp_path / "out"
        )
        found = pq.read_table(tmp_path / "out/answers.parquet").sort_by("epoch_start")
        return found.to_pylist()

    return rows


def different(first: int, end: int) -> int:
    return len({item for at, _, item in EVENTS if first <= at < end})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("window", "firsts"),
    [
        ("", [0, 0, 0, 0, 0]), ("reset: 20s\n", [0, 0, 20, 20, 40]),
        ("window: 20s\n", [-10, 0, 10, 20, 30]), ("window: 10s\n", [0, 10, 20, 30, 40]),
    ],
)  # fmt: skip
def test_one_row_an_epoch_within_the_error_and_0_for_an_empty_window(
    rows: Any, method: str, window: str, firsts: list[int]
) -> None:
    found = rows(f"method: {method}\n{window}")
    exact = [different(first, 10 * (epoch + 1)) for epoch, first in enumerate(firsts)]
    assert [(row["key"], row["rank"], row["partial"]) for row in found] == [("", None, False)] * 5
    for row, number in zip(found, exact, strict=True):
        assert row["estimate"] * 0.9 - 1 <= row["low"] <= number <= row["high"] <= row["estimate"] / 0.9 + 1
        assert row["low"] <= row["estimate"] <= row["high"]
        if method == "exact" or not number:
            assert row["low"] == row["estimate"] == row["high"] == number
        assert row["confidence"] == (1 if method == "exact" else 0.95)


@pytest.mark.parametrize("option", SKETCHES)
def test_every_sketch_encoding_and_estimator_counts_few_items(rows: Any, option: str) -> None:
    found = rows(f"options: {{repaid-sharing: {{{option}}}}}\n")
    exact = [different(0, 10 * (epoch + 1)) for epoch in range(5)]
    assert all(row["low"] <= number <= row["high"] for row, number in zip(found, exact, strict=True))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("by: src\n", "by"),
        ("measure: sum(value)\n", "measure"),
        ("k: 3\n", "k"),
        ("confidence: 1\n", "confidence"),
        ("window: 15s\n", "window"),
        ("reset: 15s\n", "reset"),
        ("options: {repaid-sharing: {bitmaps: 169}}\n", "options.repaid-sharing.bitmaps"),
        ("options: {repaid-sharing: {lag: 0.2}}\n", "options.repaid-sharing.lag"),
        ("options: {repaid-sharing: {sketch: hll, encoding: bits}}\n", "options.repaid-sharing.encoding"),
    ],
)
def test_what_it_cannot_do_is_a_fault_that_names_the_key(rows: Any, text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"\b{key}: ") as raised:
        rows(text)
    assert raised.value.exit_code == 2
