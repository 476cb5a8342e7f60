"""Drift: a column at a site against the source's history; a range at once equals its epochs one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from jobs.quality import BUCKETS, bucket_column, buckets_of, check_sites, statistics_schema
from jobs.quality.findings import Finding
from monitoring_lib.config import Source
from monitoring_lib.epochs import parse_duration, parse_time

HOUR, ORIGIN = parse_duration("1h"), parse_time("2026-03-01")
ASKED = Source.model_validate(
    {
        "name": "cdn", "format": "csv", "path": "*.csv", "epoch": "1h", "origin": "2026-03-01",
        "columns": {"time": "t", "site": "s", "item": "i"},
        "quality": {"drift": {"item": {"most": 0.3, "history": 3}}, "severity": {"drift": "critical"}},
    }
)  # fmt: skip
EVEN = [100 // BUCKETS + 1] * BUCKETS
ONE_SIDED = [5 * BUCKETS, *[0] * (BUCKETS - 1)]
Cells = dict[tuple[int, str], list[int]]


def statistics(cells: Cells) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"epoch_start": ORIGIN + epoch * HOUR, "site": site, "events": sum(parts)}
        | {bucket_column("item", at): count for at, count in enumerate(parts)}
        for (epoch, site), parts in cells.items()
    ]
    return pa.Table.from_pylist(rows, statistics_schema([], drifting=["item"]))


def history(cells: Cells) -> pa.Table:
    found = statistics(cells)
    columns = {name: found[name] for name in ("epoch_start", "site", "events")}
    columns["epoch_start"] = columns["epoch_start"].cast(pa.timestamp("us", "UTC"))
    return pa.table({**columns, "buckets": pa.array(buckets_of(found), pa.map_(pa.string(), pa.int64()))})


def check(cells: Cells, epochs: range, before: Cells) -> list[Finding]:
    starts = range(ORIGIN + epochs.start * HOUR, ORIGIN + epochs.stop * HOUR, HOUR)
    return check_sites(statistics(cells), history(before), (), ASKED, starts)


CELLS: Cells = {(epoch, site): EVEN for epoch in range(6) for site in ("north", "south")}
CELLS[4, "south"] = ONE_SIDED
CELLS[5, "west"] = [1] * 9 + [0] * (BUCKETS - 9)  # too few events to be judged


def drifted(findings: list[Finding]) -> list[tuple[int, str]]:
    return [((one.epoch_start - ORIGIN) // HOUR, one.site) for one in findings if one.site]


def test_a_site_whose_items_are_others_is_found_and_told() -> None:
    findings = check(CELLS, range(6), {})
    assert drifted(findings) == [(4, "south")]
    [finding] = [one for one in findings if one.site]
    assert finding.sets_aside
    assert finding.observed == f"{1 - 1 / BUCKETS:.3g}"
    assert "the distribution of item differs by 0.969 from that of the source's last 3 epochs" in finding.detail


def test_a_range_at_once_gives_what_its_epochs_give_one_by_one() -> None:
    single: list[Finding] = []
    for epoch in range(6):
        now = {key: parts for key, parts in CELLS.items() if key[0] == epoch}
        single += check(now, range(epoch, epoch + 1), {key: parts for key, parts in CELLS.items() if key[0] < epoch})
    key = [(one.epoch_start, one.site, one.success, one.observed) for one in single]
    assert sorted(key) == sorted((o.epoch_start, o.site, o.success, o.observed) for o in check(CELLS, range(6), {}))


def test_the_distance_is_the_total_variation() -> None:
    draw = np.random.default_rng(5)
    usual, now = draw.integers(0, 50, BUCKETS).tolist(), draw.integers(0, 50, BUCKETS).tolist()
    [judged] = [one for one in check({(1, "a"): now}, range(1, 2), {(0, "a"): usual}) if one.site] or [None]
    exact = sum(abs(a / sum(usual) - b / sum(now)) for a, b in zip(usual, now, strict=True)) / 2
    assert (judged is not None) == (exact > 0.3)
    if judged is not None:
        assert judged.observed == f"{exact:.3g}"
