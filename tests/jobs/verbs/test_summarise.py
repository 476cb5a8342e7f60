"""Spark makes of events the very bytes that a plain grouping makes of them, however they are partitioned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.lake.site_tables import to_frame
from jobs.spark.grouped import cells
from jobs.spark.session import open_session
from jobs.spark.shipping import SAMPLED, KeySample, shipping_of
from jobs.spark.synopses import synopses_of
from monitoring_lib.config.settings import Spark
from monitoring_lib.epochs import Clock, to_microseconds
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.summaries import Cell, Intake, Measure, Summary, rounded_means
from monitoring_lib.tables import EVENTS, SYNOPSES
from tests.jobs.summaries import Distinct, Failing, Kept, KeptHashes, SumsInParts
from tests.laws.grouping import rows_of, synopsis_of
from tests.laws.method_driver import subjects
from tests.laws.questions import makers

ORIGIN, HOUR, MINUTE = 1_600_000_000_000_000, 3_600_000_000, 60_000_000
CLOCK = Clock(ORIGIN, HOUR)
SITES = ("north", "söuth 'x'", "")
ITEMS = ("a", "b", "B", "", "é", "z\U0001f4a7", "\uffff", "a\x00", "longer than others " * 3, None)
PATHS = {"digest 1": "b.csv", "digest 2": "a.csv", "digest 3": "c.csv"}
SCALES = {"value": 1, "heat": 10}
Event = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """An intake, and which events it counts, said in Python."""

    intake: Intake
    counts: Callable[[Event], bool] = lambda event: True
    item: Callable[[Event], str | None] = lambda event: event["item"]


def plain(summary: Summary, tick: int = MINUTE) -> Case:
    named = {"item": "item", "by": "by"}
    return Case(Intake(summary, {key: named[key] for key in summary.keys if key != "tick"}, tick))


def heat_above(event: Event) -> bool:
    return event["heat"] is not None and event["heat"] > 5


HERE = [
    plain(ItemCounts()),
    plain(ItemCounts(Measure("sum", "value"))),
    plain(Kept(())),
    plain(Kept(("item", "by"))),
    plain(Kept(("tick", "item"), Measure("last", "value"))),
    plain(Kept(("item", "tick"), Measure("mean", "heat")), tick=15 * MINUTE),
    plain(Kept(("item",), Measure("min", "heat"))),
    plain(Kept(("item",), Measure("count", "heat"))),
    plain(SumsInParts(Measure("count", "heat"), longest=5)),
    plain(Kept(("item",), Measure("max", "value"))),
    plain(Kept(("item",), Measure("mean", "value"))),
    plain(KeptHashes(("item",))),
    plain(KeptHashes(("tick", "by", "item"), Measure("last", "heat"))),
    plain(Distinct()),
    plain(SumsInParts(Measure("sum", "value"), longest=4)),
    Case(Intake(Distinct(32), {"item": "by"}, MINUTE), item=lambda event: event["by"]),
    Case(
        Intake(SumsInParts(Measure("max", "heat")), {"item": "by"}, MINUTE, "item in ('a', 'b')"),
        lambda event: event["item"] in ("a", "b"),
        lambda event: event["by"],
    ),
    Case(
        Intake(Distinct(16), {"item": "concat(item, '/', by)"}, MINUTE, "heat > 0.5"),
        heat_above,
        lambda event: None if None in (event["item"], event["by"]) else f"{event['item']}/{event['by']}",
    ),
    Case(Intake(ItemCounts(), {"item": "upper(item)"}, MINUTE, "heat > 0.5"), heat_above,
         lambda event: event["item"] and event["item"].translate({97: "A", 98: "B", 122: "Z"})
         if event["item"] is None or len(event["item"]) < 9 else event["item"].upper()),
]  # fmt: skip


@cache
def of_methods() -> list[Case]:
    """The summaries of every method found, with the asks that the laws draw."""
    found: dict[str, Case] = {}
    for kind in subjects():
        ask = makers()[kind.question.name].ask(Random(1), kind)
        column = "" if ask.measure.reduction == "count" else "value"
        ask = replace(ask, measure=Measure(ask.measure.reduction, column), epoch=HOUR, tick=MINUTE)
        for summary in (kind(ask).summary(), kind.question.exact(ask)):
            keys = {key: "by" if key == "by" else "item" for key in summary.keys if key != "tick"}
            case = Case(Intake(summary, keys, MINUTE))
            found.setdefault(case.intake.name, case)
    return list(found.values())


def some_events(seed: int, count: int) -> list[Event]:
    """In the order in which `last` takes them."""
    rng = Random(seed)
    events = []
    for line in range(count):
        epoch = rng.choice([0, 0, 1, 5])
        time = CLOCK.start_of(epoch) + rng.choice([0, HOUR - 1, rng.randrange(HOUR), rng.randrange(3) * MINUTE])
        events.append(
            {
                "site": rng.choice(SITES), "epoch": epoch, "time": time, "tick": None, "item": rng.choice(ITEMS),
                "by": rng.choice(["x", "y", None, "Z"]), "digest": rng.choice(sorted(PATHS)), "line": line,
                "value": rng.choice([None, 0, 1, -1, 2, 2**62, -(2**62), rng.randint(-99, 99)]),
                "heat": rng.choice([None, 5, 6, rng.randint(-20, 20)]),
            }
        )  # fmt: skip
    return sorted(events, key=lambda event: (event["time"], PATHS[event["digest"]], event["line"]))


def as_table(events: Sequence[Event]) -> pa.Table:
    def row(event: Event) -> dict[str, Any]:
        start = CLOCK.start_of(event["epoch"])
        return {
            "source": "s", "epoch_start": start, "day": start // 86_400_000_000, "time": event["time"],
            "site": event["site"], "item": event["item"], "value": event["value"],
            "fields": None if event["by"] is None else [("by", event["by"])],
            "values": None if event["heat"] is None else [("heat", event["heat"])],
            "digest": event["digest"], "line": event["line"], "write": "w",
        }  # fmt: skip

    return pa.Table.from_pylist([row(event) for event in events], EVENTS.schema)


def expected(case: Case, events: Sequence[Event]) -> dict[tuple[str, int], tuple[bytes, int, int]]:
    """By site and start of the epoch: the bytes, the events taken and those refused."""
    intake, cells = case.intake, {}
    summary = intake.summary
    for epoch in {event["epoch"] for event in events}:
        for site in SITES:
            start = CLOCK.start_of(epoch)
            cell = Cell(site, epoch, start, start + HOUR, intake.tick)
            mine = [
                {
                    "item": case.item(event), "object": case.item(event), "by": event["by"],
                    "value": event[summary.measure.column or "value"],
                    "tick": cell.first_tick + (event["time"] - start) // intake.tick,
                }
                for event in events
                if event["site"] == site and event["epoch"] == epoch and case.counts(event)
            ]  # fmt: skip
            rows = rows_of(summary, mine)
            if len(rows):
                refused = summary.refused(rows)
                left_out = 0 if refused is None else sum(rows.events.filter(refused).to_pylist())
                taken = sum(rows.events.to_pylist())
                cells[site, start] = (synopsis_of(summary, cell, mine).to_bytes(), taken, left_out)
    return cells


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Iterator[Any]:
    """A session of the shared server: a process that has been its client can have no session of its own any more."""
    session = open_session(Spark(mode="connect", remote=spark_remote), tmp_path_factory.mktemp("summarise"))
    batch = "spark.sql.execution.arrow.maxRecordsPerBatch"
    session.conf.set(batch, "7")  # so that cells lie in several batches
    yield session
    session.conf.unset(batch)


def made(spark: Any, events: Sequence[Event], cases: Sequence[Case], partitions: int = 2, exact: Any = ()) -> list[Any]:
    shuffled = Random(partitions).sample(list(events), len(events))
    paths = spark.createDataFrame(sorted(PATHS.items()), "digest string, path string")
    frame = synopses_of(
        to_frame(spark, as_table(shuffled)).repartition(partitions), [case.intake for case in cases], source="s",
        clock=CLOCK, scales=SCALES, write="w", file_order=paths, exact=exact,
    )  # fmt: skip
    assert frame.columns == list(SYNOPSES.columns)
    return list(frame.collect())


def by_cell(rows: Sequence[Any], case: Case) -> dict[tuple[str, int], Any]:
    mine = [row for row in rows if row["summary"] == case.intake.name]
    found = {(row["site"], to_microseconds(row["epoch_start"].astimezone())): row for row in mine}
    assert len(found) == len(mine)
    return found


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_every_summary_has_the_same_bytes_from_spark_and_from_a_plain_grouping(spark: Any, partitions: int) -> None:
    cases = [*HERE, *of_methods()]
    events = some_events(partitions, 400)
    events = [event if event["value"] is None or abs(event["value"]) < 2**62 else {**event, "value": 7}
              for event in events]  # fmt: skip
    rows = made(spark, events, cases, partitions)
    assert not [row["fault"] for row in rows if row["fault"]]
    for case in cases:
        found = {
            cell: (bytes(row["payload"]), row["events"], row["refused"]) for cell, row in by_cell(rows, case).items()
        }
        assert found == expected(case, events), case.intake


@pytest.mark.spark
def test_a_sum_beyond_64_bits_fails_the_intake_that_asks_for_it_and_says_where(spark: Any) -> None:
    events = [event | {"value": 5} for event in some_events(1, 60)]
    for event in events[:2]:
        event |= {"site": "north", "epoch": 1, "time": CLOCK.start_of(1), "item": "huge 'x'", "value": 2**63 - 1}
    summed, counted = plain(ItemCounts(Measure("sum", "value"))), plain(ItemCounts())
    mean = plain(Kept(("item",), Measure("mean", "value")))
    rows = made(spark, events, [summed, counted, mean])
    (fault,) = [row["fault"] for row in rows if row["fault"]]
    assert "site 'north', epoch 2020-09-13T13:26:40Z" in fault
    assert "huge 'x'" in fault
    assert str(2 * (2**63 - 1)) in fault
    for case in (counted, mean):
        found = {cell: bytes(row["payload"]) for cell, row in by_cell(rows, case).items()}
        assert found == {cell: payload for cell, (payload, _, _) in expected(case, events).items()}
    assert {bytes(row["payload"]) for row in by_cell(rows, summed).values() if row["fault"]} == {b""}


@pytest.mark.spark
def test_a_summary_that_raises_is_a_fault_of_its_own_cells_alone(spark: Any) -> None:
    events = some_events(3, 60)
    rows = made(spark, events, [plain(Failing("north")), plain(ItemCounts())])
    faulty = [row for row in rows if row["fault"]]
    assert {(row["site"], row["summary"]) for row in faulty} == {("north", plain(Failing("north")).intake.name)}
    assert all("RuntimeError: broken on purpose" in row["fault"] for row in faulty)
    assert len(by_cell(rows, plain(ItemCounts()))) == len(expected(plain(ItemCounts()), events))


@pytest.mark.spark
def test_shipping_is_the_size_of_exact_counts_or_an_estimate_of_it_from_any_summary(spark: Any) -> None:
    rng = Random(5)
    items = [f"item {rng.randrange(4_000)}" for _ in range(6_000)]
    events = [event | {"item": item, "site": "north", "epoch": 0, "time": ORIGIN}
              for event, item in zip(some_events(5, 6_000), items, strict=True)]  # fmt: skip
    counts, hashes, sketch = plain(ItemCounts()), plain(KeptHashes(("item",))), plain(Distinct())
    exact = {counts.intake.name}
    (by_text,) = made(spark, events, [counts], exact=exact)
    (by_hash,) = made(spark, events, [hashes])
    (one,) = made(spark, events, [sketch], 1)
    (other,) = made(spark, events, [sketch], 3)
    size = len(by_text["payload"])
    assert by_text["shipping"] == size
    assert by_hash["shipping"] == pytest.approx(size, rel=0.01)
    assert one["shipping"] == other["shipping"]
    assert one["shipping"] == pytest.approx(size, rel=0.25)


@given(st.lists(st.tuples(st.integers(-(2**70), 2**70), st.integers(1, 2**40)), min_size=1))
def test_means_are_rounded_to_the_nearest_step_and_halves_to_even(pairs: list[tuple[int, int]]) -> None:
    pairs = [(total % (2**62 * count), count) for total, count in pairs]
    totals, counts = np.array([total for total, _ in pairs], object), np.array([count for _, count in pairs])
    assert rounded_means(totals, counts).tolist() == [round(Fraction(*pair)) for pair in pairs]
    small = np.array([total % 1_000 - 500 for total, _ in pairs])
    few = counts % 8 + 1
    halves = [round(Fraction(*pair)) for pair in zip(small.tolist(), few.tolist(), strict=True)]
    assert rounded_means(small, few).tolist() == halves


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_a_sample_of_keys_does_not_depend_on_how_the_events_were_cut(seed: int, pieces: int) -> None:
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**64, 3_000, np.uint64)[rng.integers(0, 3_000, 6_000)]
    letters = (hashes % np.uint64(50)).astype(np.int32)
    whole, cut = KeySample.none().joined(hashes, letters), KeySample.none()
    for part in np.array_split(rng.permutation(len(hashes)), pieces):
        cut = cut.joined(hashes[part], letters[part])
    assert cut.hashes.tolist() == whole.hashes.tolist()
    assert cut.letters.tolist() == whole.letters.tolist()
    assert len(whole.hashes) == SAMPLED
    assert whole.keys == pytest.approx(len(np.unique(hashes)), rel=0.2)


def test_few_keys_are_counted_exactly_and_their_bytes_are_those_of_counts() -> None:
    events = [{"item": f"item {number % 40}"} for number in range(100)]
    rows = rows_of(ItemCounts(), events)
    size = len(synopsis_of(ItemCounts(), Cell("", 0, 0, 1, 1), events).to_bytes())
    lengths = np.array([len(name) for name in rows.keys["item"].to_pylist()], np.int32)
    assert shipping_of(rows, lengths) == pytest.approx(size, abs=4)
    sample = KeySample.none().joined(np.arange(40, dtype=np.uint64), np.full(40, 7, np.int32))
    assert (sample.keys, KeySample.none().keys) == (40, 0)


def test_cells_lie_in_several_batches_and_two_of_the_same_hash_are_kept_apart() -> None:
    rows = [(1, "a"), (1, "a"), (2, "b"), (2, "c"), (2, "b"), (3, "d"), (3, "d"), (4, "a")]
    table = pa.RecordBatch.from_pydict(
        {
            "cell": pa.array([cell for cell, _ in rows]), "site": pa.array([site for _, site in rows]),
            "grouping": pa.array([0] * 8), "epoch_start": pa.array([9] * 8), "row": pa.array(range(8)),
        }
    )  # fmt: skip
    for size in range(1, 9):
        batches = [table.slice(at, size) for at in range(0, 8, size)]
        found = [
            (cell["site"][0].as_py(), cell["row"].to_pylist()) for cell in cells(iter([table.slice(0, 0), *batches]))
        ]
        assert found == [("a", [0, 1]), ("b", [2, 4]), ("c", [3]), ("d", [5, 6]), ("a", [7])]
