"""One pass over a trace: what each site took in of each epoch, against the same said row by row in Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.simulation import counting as counting_module
from jobs.simulation import grouping
from jobs.simulation.trace import Trace, TraceOptions, open_trace
from jobs.simulation.trace_counts import REFUSED, count
from monitoring_lib.config import Monitor, parse_monitor, parse_source
from monitoring_lib.errors import DataError
from monitoring_lib.hashing import SPARK_SEED, hash_text
from monitoring_lib.summaries import Rows, Summary
from tests.keyed import Keyed

MINUTE = 60_000_000


@dataclass(frozen=True)
class Grouped(Keyed):
    """It refuses items that are longer than `longest`."""

    longest: int = 99

    def refused(self, rows: Rows) -> pa.Array | None:
        if self.longest == 99:
            return None
        return pa.array([len(name) > self.longest for name in rows.keys["item"].to_pylist()], pa.bool_())


@dataclass(frozen=True)
class Hashed(Grouped):
    hashed: ClassVar[bool] = True


def make(folder: Path, rows: list[tuple[Any, ...]], monitor: str = "", **said: Any) -> tuple[Trace, Monitor]:
    """A trace of (minute, site, item, value) in files of at most three rows, and a monitor of it."""
    paths = []
    for at in range(0, max(1, len(rows)), 3):
        path = folder / f"part-{at:03d}.csv"
        lines = ["time,site,item,value"]
        lines += [
            ",".join("" if cell is None else str(cell) for cell in (row[0] * 60, *row[1:])) for row in rows[at : at + 3]
        ]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        paths.append(str(path))
    keys = {"name": "m", "question": "distinct-heavy-hitters", "share": 0.1, "error": 0.05, "by": "site"} | said
    source = parse_source(
        {
            "name": "s", "format": "csv", "path": "x", "epoch": "10m", "tick": "5m", "origin": "1970-01-01",
            "columns": {"time": "time", "site": "site", "item": "item", "value": "value"}, "scale": 10,
        },
        "here",
    )  # fmt: skip
    return Trace(tuple(reversed(paths)), {}, source, 0, (), False), parse_monitor(keys, "here")


def taken(trace: Trace, monitor: Monitor, *summaries: Summary, placement: tuple[str, ...] = ()) -> Any:
    intakes = [monitor.intake(summary, trace.source) for summary in summaries]
    counting, account = count(trace, monitor, intakes, placement)
    found = []
    for intake in intakes:
        found.append(
            {
                (epoch, site): list(zip(*(column.to_pylist() for column in rows.keys.values()), rows.values.to_pylist(),
                                        rows.events.to_pylist(), strict=True))
                for epoch, events in counting.epochs()
                for site, rows in events.rows[intake.name].items()
            }
        )  # fmt: skip
    return found, {epoch: dict(events.sites) for epoch, events in counting.epochs()}, account, counting


def reduced(reduction: str, readings: list[tuple[Any, ...]]) -> int:
    """`readings` are (time, path, line, value)."""
    values = [reading[3] for reading in readings]
    if reduction == "last":
        return max(readings)[3]
    if reduction == "mean":
        return round(Fraction(sum(values), len(values)))
    return {"sum": sum, "min": min, "max": max, "count": len}[reduction](values)


MEASURES = ["count", "sum(value)", "last(value)", "mean(value)", "min(value)", "max(value)", "count(value)"]

events = st.lists(
    st.tuples(
        st.integers(0, 35),
        st.sampled_from(["a", "b", "é"]),
        st.sampled_from(["x", "y", "z", "Z", "é", "😀", None]),
        st.none() | st.integers(-3, 3),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events, st.sampled_from(MEASURES), st.booleans(), st.integers(1, 8))
def test_every_reduction_is_exact_in_every_cell(tmp_path_factory, rows, measure, filtered, pending):
    folder = tmp_path_factory.mktemp("trace")
    said = {"where": "value >= 0 or value is null"} if filtered else {}
    trace, monitor = make(folder, rows, **said)
    readings = defaultdict(list)
    for at, (minute, site, item, value) in enumerate(rows):
        if item is None or (filtered and value is not None and value < 0):
            continue
        if value is not None or measure == "count":
            cell = (minute // 10, site, item, minute // 5)
            readings[cell].append((minute, at // 3, at % 3, None if value is None else 10 * value))
    expected = defaultdict(list)
    for (epoch, site, item, tick), group in sorted(readings.items()):
        value = reduced(measure.removesuffix("(value)"), group)
        expected[epoch, site].append((item, tick, value, len(group)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting_module, "MOST_PENDING", pending)
        [found], sites, account, _ = taken(trace, monitor, Grouped(("item", "tick"), measure))
    assert found == expected
    seen = defaultdict(dict)
    for minute, site, item, _ in rows:
        if item is not None:  # a row without an item is faulty: the source maps one
            seen[minute // 10][site] = ()
    assert {epoch: there for epoch, there in sites.items() if there} == seen
    assert account.read == len(rows) == account.counted + account.dropped + account.left_out.total()


def test_several_summaries_are_counted_in_one_pass(tmp_path):
    rows = [(1, "a", "x", 1), (2, "a", "x", 2), (2, "b", "y", 3), (12, "a", "y", None)]
    trace, monitor = make(tmp_path, rows)
    summaries = Grouped(), Grouped(("item", "by")), Grouped(("tick",), "sum(value)"), Grouped(()), Grouped()
    [items, pairs, ticks, none, again], _, _, counting = taken(trace, monitor, *summaries)
    assert items == again == {(0, "a"): [("x", 2, 2)], (0, "b"): [("y", 1, 1)], (1, "a"): [("y", 1, 1)]}
    assert pairs[0, "a"] == [("x", "a", 2, 2)]
    assert ticks == {(0, "a"): [(0, 30, 2)], (0, "b"): [(0, 30, 1)]}  # a null is no reading
    assert none == {(0, "a"): [(2, 2)], (0, "b"): [(1, 1)], (1, "a"): [(1, 1)]}
    assert len(counting.groupings) == 4


def test_hashed_keys_are_spark_s_hashes_in_their_own_order(tmp_path):
    trace, monitor = make(tmp_path, [(1, "a", item, 1) for item in ("x", "y", "x", "é")])
    [found], *_ = taken(trace, monitor, Hashed())
    expected = sorted((hash_text(item, SPARK_SEED), n, n) for item, n in (("x", 2), ("y", 1), ("é", 1)))
    assert found == {(0, "a"): expected}


def test_a_site_whose_events_are_all_dropped_is_known_all_the_same(tmp_path):
    rows = [(1, "a", "x", 1), (2, "b", "x", 9), (12, "b", "x", 1)]
    trace, monitor = make(tmp_path, rows, where="value < 5")
    [found], sites, account, _ = taken(trace, monitor, Grouped())
    assert found == {(0, "a"): [("x", 1, 1)], (1, "b"): [("x", 1, 1)]}
    assert sites == {0: {"a": (), "b": ()}, 1: {"b": ()}}
    assert (account.counted, account.dropped, dict(account.left_out)) == (2, 1, {})


def test_a_site_belongs_to_the_smallest_place_that_its_events_name(tmp_path):
    rows = [(1, "a", "n", 1), (2, "a", "M", 1), (3, "b", "q", 1), (12, "a", "n", 1)]
    trace, monitor = make(tmp_path, rows)
    _, sites, _, _ = taken(trace, monitor, Grouped(), placement=("item", "prefix(site, 1)"))
    assert sites == {0: {"a": ("M", "a"), "b": ("q", "b")}, 1: {"a": ("n", "a")}}


def test_without_an_origin_the_first_event_gives_epoch_and_tick(tmp_path):
    trace, monitor = make(tmp_path, [(47, "a", "x", 1), (40, "a", "y", 9), (52, "a", "x", 1)], where="value < 5")
    trace = Trace(trace.paths, {}, trace.source, None, (), False)
    [found], _, _, counting = taken(trace, monitor, Grouped(("item", "tick")))
    assert found == {(0, "a"): [("x", 1, 1, 1)], (1, "a"): [("x", 2, 1, 1)]}
    assert counting.clock().origin == 40 * MINUTE
    _, first = next(counting.epochs())
    cell = first.cell("a")
    assert (cell.start, cell.end, cell.tick, cell.ticks, cell.first_tick) == (
        40 * MINUTE,
        50 * MINUTE,
        5 * MINUTE,
        2,
        0,
    )


def test_what_a_summary_refuses_is_counted_and_left_out(tmp_path):
    rows = [(1, "a", "x", 1), (2, "a", "long", 1), (2, "b", "long", 1), (3, "b", "long", 1)]
    trace, monitor = make(tmp_path, rows)
    [found], _, account, _ = taken(trace, monitor, Grouped(longest=2))
    assert found == {(0, "a"): [("x", 1, 1)]}
    assert (account.counted, account.left_out[REFUSED]) == (1, 3)
    assert "item 'long'" in account.examples[0]


def test_a_sum_beyond_64_bits_names_monitor_site_epoch_and_key(tmp_path):
    rows = [(11, "a", "x", 2**59), (11, "a", "x", 2**59), (12, "a", "y", 1)]
    trace, monitor = make(tmp_path, rows)
    with pytest.raises(DataError, match=r"monitor m: site 'a', epoch 1970-01-01T00:10Z, item 'x'.*smaller scale"):
        taken(trace, monitor, Grouped(measured="sum(value)"))
    trace, monitor = make(tmp_path, [*rows, (13, "a", "x", -(2**59))])
    [found], *_ = taken(trace, monitor, Grouped(measured="sum(value)"))
    assert found[1, "a"][0] == ("x", 10 * 2**59, 3)  # what wraps on the way is exact


def test_means_are_rounded_halves_to_even():
    sums, counts = np.array([5, 7, -5, -7, 4, 10]), np.array([2, 2, 2, 2, 3, 4])
    assert grouping._rounded(sums, counts).tolist() == [2, 4, -2, -4, 1, 2]


def test_a_trace_without_a_source_is_read_by_the_names_that_the_monitor_uses(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time,site,query,host,bytes,ms\n0,a,q,h,7,1\n1,a,q,h,3,9\n")
    monitor = parse_monitor(
        {
            "name": "m", "question": "top-k", "k": 1, "item": "lower(query)", "measure": "sum(bytes)",
            "where": "ms < 5 and host is not null",
        },
        "here",
    )  # fmt: skip
    trace = open_trace(monitor, TraceOptions(str(path), epoch="10s"), None, tmp_path)
    assert (trace.source.scales, sorted(trace.source.columns)) == (
        {"bytes": 1, "ms": 1},
        ["host", "query", "site", "time"],
    )
    [found], *_ = taken(trace, monitor, Grouped(measured="sum(bytes)"))
    assert found == {(0, "a"): [("q", 7, 1)]}
