"""Bounds that arrive late: rows that lie behind, or padded ones, whatever the delays within the allowance are."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from monitoring_lib.codec import decode
from monitoring_lib.errors import DataError
from monitoring_lib.protocols.aggregates.letters import NewBounds
from monitoring_lib.protocols.aggregates.question import Aggregates
from tests.protocols.aggregates.driver import BY_NAME, Network, brute_force, cut, method, walks

TICKS, EPOCHS, LAG = 20, 8, 3
every_method = pytest.mark.parametrize("name", BY_NAME)
BEHIND = {"latency": f"{LAG}us"}
QUERIES: list[dict[str, Any]] = [
    {"name": "mean", "ask": "avg", "precision": 60},
    {"name": "low", "ask": "min", "precision": 50},
    {"name": "few", "ask": "sum", "weights": {"s0/0": 2, "s1/3": -1, "nobody": 1}, "precision": 200},
    {"name": "n", "ask": "count"},
]


def slow_walks(rng: Random, objects: int, ticks: int, step: int) -> dict[str, list[int | None]]:
    """Walks that never change by more than `step` in a tick."""
    found: dict[str, list[int | None]] = {}
    for number in range(objects):
        value, begin, walk = rng.randint(-50, 50), rng.choice([0, 0, 7]), []
        for tick in range(ticks):
            value += rng.randint(-step, step)
            walk.append(value if tick >= begin else None)
        found[f"s{number // 2}/{number}"] = walk
    return found


@every_method
def test_without_a_known_rate_rows_lie_behind_by_the_allowance(name: str) -> None:
    series = walks(Random(name), 8, TICKS * EPOCHS)
    asked = [*QUERIES, {"name": "all", "ask": "sum", "precision": 90}]
    network = Network(method(asked, TICKS, name, late=BEHIND))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert all(len(step.verdicts.where_broken()) == 0 for step in steps)
    exact = {key: value for key, value in brute_force(network.method, series).items() if key[0] <= TICKS * EPOCHS - LAG}
    rows = {(row.tick, row.key): row for step in steps for row in step.settled.answers}
    assert rows.keys() == exact.keys()
    assert all(rows[key].low <= float(value) <= rows[key].high for key, value in exact.items())
    last = Network(method(asked, TICKS, name, late=BEHIND, publish="epoch"))
    for epoch in range(EPOCHS):
        found = list(last.step(cut(series, epoch, TICKS)).settled.answers)
        assert found == [row for row in steps[epoch].settled.answers if row.tick == (epoch + 1) * TICKS - LAG]


@every_method
def test_with_a_known_rate_rows_are_padded_and_for_now(name: str) -> None:
    series = slow_walks(Random(name), 8, TICKS * EPOCHS, 5)
    network = Network(method(QUERIES, TICKS, name, late={**BEHIND, "change": 5}))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert all(len(step.verdicts.where_broken()) == 0 for step in steps)
    assert {(row.tick, row.key) for step in steps for row in step.settled.answers} == set(
        brute_force(network.method, series)
    )
    means = [row for step in steps for row in step.settled.answers if row.key == "mean"]
    assert min(row.high - row.low for row in means) >= 2 * 5 * LAG


@every_method
def test_any_delay_within_the_allowance_is_inside_the_padded_bound(name: str) -> None:
    """A coordinator of plain loops applies each bound when it arrives and drops those with older ticks."""
    rng = Random(name)
    series = slow_walks(rng, 8, TICKS * 12, 4)
    network = Network(method(QUERIES, TICKS, name, late={**BEHIND, "change": 4}))
    under_way: list[tuple[int, int, str, int]] = []  # arrives, sent, object, doubled centre
    bounds: dict[str, tuple[int, int]] = {}
    widths: dict[str, int] = {}
    named: dict[str, list[str]] = {}
    for epoch in range(12):
        before = dict(widths)
        coordinator = network.coordinator if epoch else None
        widths = dict(zip(coordinator.names, coordinator.widths.tolist(), strict=True)) if coordinator else {}
        step = network.step(cut(series, epoch, TICKS))
        starting = network.method.site.policy.starting  # type: ignore[attr-defined]
        for message in step.settled.messages:
            if message.kind != "new-bounds":
                continue
            letter = decode(message.payload, NewBounds)
            own = named.setdefault(message.sender, [])
            own += letter.names
            for place, tick, centre in zip(letter.places, letter.ticks, letter.centres, strict=True):
                at, who = epoch * TICKS + int(tick), own[place]
                new = who not in widths and not any(entry[2] == who for entry in under_way)
                under_way.append((at if new else at + rng.randint(0, LAG), at, who, int(centre)))
        for tick in range(epoch * TICKS, (epoch + 1) * TICKS):
            for arrives, sent, who, centre in sorted(under_way):
                if arrives == tick and (who not in bounds or bounds[who][0] < sent):
                    bounds[who] = sent, centre
            for who, (_, centre) in bounds.items():
                value = series[who][tick]
                assert value is not None
                known = before if tick < epoch * TICKS + LAG else widths
                width = known.get(who, widths.get(who, starting([who])[0])) // 1024 // 2 * 2
                assert abs(2 * value - centre) <= width + 2 * 4 * LAG, (who, tick)


@every_method
@pytest.mark.parametrize("late", [BEHIND, {**BEHIND, "change": 5}])
def test_a_missing_site_breaks_nothing_while_bounds_are_late(name: str, late: dict[str, Any]) -> None:
    rng = Random(name)
    series = slow_walks(rng, 8, TICKS * 20, 5)
    network = Network(method(QUERIES, TICKS, name, late=late))
    for epoch in range(20):
        missing = [site for site in ("s0", "s1", "s2", "s3") if epoch and rng.random() < 0.25]
        part = {n: v for n, v in cut(series, epoch, TICKS).items() if n.split("/")[0] not in missing}
        step = network.step(part, missing)
        assert len(step.verdicts.where_broken()) == 0, list(step.verdicts.where_broken())[:3]


def test_a_value_that_changes_faster_than_promised_fails_by_name() -> None:
    network = Network(method(QUERIES[:1], TICKS, late={**BEHIND, "change": 5}))
    with pytest.raises(DataError, match=r"site 'a': object 'a/1' changes by 9 steps"):
        network.step({"a/1": [*range(TICKS - 1), TICKS + 7]})
    network = Network(method(QUERIES[:1], TICKS, late={**BEHIND, "change": 5}))
    network.step({"a/1": [0] * TICKS})
    with pytest.raises(DataError, match="changes by 6 steps"):
        network.step({"a/1": [6] * TICKS})


def test_padding_takes_from_the_width_that_there_is_to_give() -> None:
    asked = [{"name": "s", "ask": "sum", "weights": {"a/1": 1, "b/1": -2}, "precision": 100}]
    network = Network(method(asked, TICKS, late={**BEHIND, "change": {"a/1": 4, "b/1": "1.5"}}))
    network.step({"a/1": [0] * TICKS, "b/1": [0] * TICKS})
    # floor(4 * 3) = 12 and floor(1.5 * 3) = 4 steps on both sides: 100 - 2 * (1 * 12 + 2 * 4) = 60 are left
    a, b = (int(width) // 1024 for width in network.coordinator.widths)
    assert a + 2 * b == 60
    (row,) = network.step({"a/1": [0] * TICKS, "b/1": [0] * TICKS}).settled.answers.table.slice(0, 1).to_pylist()
    assert Fraction(row["high"]) - Fraction(row["low"]) == 100


@pytest.mark.parametrize(
    ("late", "path"),
    [
        ({"change": 1}, ("change",)),
        ({"latency": "20us"}, ("latency",)),
        ({**BEHIND, "change": 50}, ("queries", 0, "precision")),
        ({**BEHIND, "change": {"a": 1}}, ("change",)),
    ],
)
def test_what_cannot_be_is_a_fault_that_names_the_key(late: dict[str, Any], path: Any) -> None:
    running = method(QUERIES[:1], TICKS, late=late)
    (fault,) = Aggregates().faults(running.ask)
    assert fault.path == path
    assert fault.remedy


def test_a_padded_sum_must_name_its_objects_and_runs_cannot_be_late() -> None:
    running = method([{"name": "s", "ask": "sum", "precision": 9}], TICKS, late={**BEHIND, "change": 1}, filter="runs")
    assert [fault.path for fault in Aggregates().faults(running.ask)] == [("queries", 0, "objects")]
    assert [fault.path for fault in running.faults()] == [("options", "waterfill", "filter")]


def test_a_monitor_with_latency_begins_anew_where_its_queries_change() -> None:
    one, other = (method(QUERIES[:count], TICKS, late=BEHIND) for count in (1, 2))
    assert one.continues(one.ask)
    assert not one.continues(other.ask)
