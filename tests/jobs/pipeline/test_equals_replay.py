"""Without a JVM: what the steps seal equals, row for row, what the library's replay says of the same events."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from monitoring_lib.answers import Answers
from monitoring_lib.network import Message
from monitoring_lib.replay import Replay, Step
from monitoring_lib.summaries import Cell
from monitoring_lib.tables import DRAFTS, MESSAGES
from tests.jobs.sealed_home import BUSIEST, SealedHome
from tests.jobs.sealed_run import Event, rows_of

HOURS = 9
METHODS = ["margins", "constraints", "requery"]
GROWING = BUSIEST | {"shadow": METHODS}
SLIDING = BUSIEST | {"name": "recent", "window": "3h", "shadow": METHODS}
OTHERS: tuple[dict[str, Any], ...] = (
    {"question": "top-k-everywhere", "k": 3, "window": "3h", "shadow": ["full-lists"]},
    {"question": "frequent-items", "support": 0.1, "error": 0.05, "decay": 0.9, "tree": {"fanout": 2}},
    {"question": "recent-counts", "item": "item", "window": "3h", "error": 0.2,
     "queries": [{"name": "one", "point": "item 1", "range": "2h"}], "shadow": ["every-update"]},
    {"question": "self-join-size", "item": "item", "window": "3h", "tolerance": 0.2, "error": 0,
     "shadow": ["half-space", "arrays"]},
    {"question": "over-threshold", "item": "item", "window": "3h", "threshold": 20, "error": 0},
)  # fmt: skip
AWAY = {3: "south", 4: "south", 6: "east"}
"""Sites that are set aside, by hour."""


def events() -> list[Event]:
    """West joins late; some hours of some sites are empty."""
    draw = random.Random(7)
    found = []
    for hour in range(HOURS):
        for site in ("north", "south", "east", *(["west"] if hour > 2 else [])):
            for _ in range(draw.randrange(0, 30)):
                found.append((hour, site, f"item {int(draw.paretovariate(0.8)) % 12}"))
    return found


def replayed(context: Context, name: str) -> list[Step]:
    source, monitor = context.config.source("shop"), context.config.monitor(name)
    chosen, shadows = monitor.method_objects(source)
    replay = Replay(source.clock, [chosen, *shadows])
    steps = []
    for hour in range(HOURS):
        came: dict[str, list[str]] = {}
        for at, site, item in events():
            if at == hour:
                came.setdefault(site, []).append(item)
        start = source.clock.start_of(hour)
        synopses = {
            summary: {
                site: summary.build(Cell(site, hour, start, start + source.epoch, source.epoch), rows_of(items, hour))
                for site, items in came.items()
            }
            for summary in replay.summaries
        }
        missing = [AWAY[hour]] if hour in AWAY else []
        steps += replay.step(hour, dict.fromkeys(came, ()), synopses, missing)
    return steps


def said_by_replay(steps: Iterable[Step]) -> list[tuple[Any, ...]]:
    return sorted((step.method, *_message(message)) for step in steps for message in step.settled.messages)


def _message(message: Message) -> tuple[Any, ...]:
    return (
        message.epoch, message.round, message.sender, message.position, message.receivers, message.kind,
        message.reason, message.entries, message.bytes, message.payload,
    )  # fmt: skip


def said_by_tables(context: Context, name: str) -> list[tuple[Any, ...]]:
    clock = context.config.source("shop").clock
    seals = context.lake.ledger.seals("shop", name)
    rows = context.lake.sealed(MESSAGES, seals, ["inbox", "messages"], [("monitor", "=", name)])
    epochs = [clock.epoch_of(start) for start in rows["epoch_start"].cast(pa.int64()).to_pylist()]
    columns = ("round", "sender", "position", "receivers", "kind", "reason", "entries", "bytes", "payload")
    found = zip(rows["method"].to_pylist(), epochs, *(rows[column].to_pylist() for column in columns), strict=True)
    return sorted((*row[:5], tuple(row[5]), *row[6:]) for row in found)


def published_by_tables(context: Context, name: str, hour: int) -> pa.Table:
    start = context.config.source("shop").clock.start_of(hour)
    seals = context.lake.ledger.seals("shop", name, start, start + 1)
    rows = context.lake.sealed(DRAFTS, seals, ["drafts"], [("monitor", "=", name)])
    found = rows.set_column(rows.column_names.index("tick"), "tick", rows["tick"].cast(pa.int64()))
    return found.select(Answers.schema.names).cast(Answers.schema)


def run_in_parts(home: SealedHome, *parts: tuple[int, int]) -> SealedHome:
    """One run for each part, and one for each stretch of it in which the same sites are away."""
    home.land(events())
    for first, last in parts:
        begin = first
        for hour in range(first + 1, last + 1):
            if hour == last or AWAY.get(hour) != AWAY.get(begin):
                home.run(begin, hour, {AWAY[begin]: "late"} if begin in AWAY else {})
                begin = hour
    return home


@pytest.mark.parametrize("parts", [[(0, HOURS)], [(hour, hour + 1) for hour in range(HOURS)]], ids=["ranges", "single"])
def test_all_methods_over_growing_and_sliding_windows_with_sites_away_and_a_late_joiner(
    tmp_path: Path, parts: list[tuple[int, int]]
) -> None:
    home = run_in_parts(SealedHome(tmp_path, monitors=(GROWING, SLIDING)), *parts)
    context = home.context()
    for monitor in (GROWING, SLIDING):
        name = str(monitor["name"])
        steps = replayed(context, name)
        assert said_by_tables(context, name) == said_by_replay(steps)
        for step in steps:
            if step.method == monitor["method"]:
                assert published_by_tables(context, name, step.moment.epoch).equals(step.settled.answers.table)


@pytest.mark.parametrize("parts", [[(0, HOURS)], [(hour, hour + 1) for hour in range(HOURS)]], ids=["ranges", "single"])
def test_every_question_goes_on_alike_when_a_site_is_back(tmp_path: Path, parts: list[tuple[int, int]]) -> None:
    monitors = [{"name": one["question"], "source": "shop", **one} for one in OTHERS]
    context = run_in_parts(SealedHome(tmp_path, monitors=monitors), *parts).context()
    for monitor in monitors:
        name = str(monitor["name"])
        steps = replayed(context, name)
        assert said_by_tables(context, name) == said_by_replay(steps), name
        for step in steps:
            if step.method == context.config.monitor(name).method:
                published = published_by_tables(context, name, step.moment.epoch)
                assert in_order(published) == in_order(step.settled.answers.table), (name, step.moment.epoch)


def in_order(answers: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = answers.sort_by(
        [("node", "ascending"), ("tick", "ascending"), ("key", "ascending")]
    ).to_pylist()
    return rows


def test_steps_that_know_only_the_hand_overs_text_seal_the_same(tmp_path: Path) -> None:
    one = run_in_parts(SealedHome(tmp_path / "one", monitors=(GROWING, SLIDING)), (0, HOURS))
    (tmp_path / "apart").mkdir()
    apart = SealedHome(tmp_path / "apart", monitors=(GROWING, SLIDING), between=through_text)
    run_in_parts(apart, (0, HOURS))
    for monitor in ("busiest", "recent"):
        seals = [home.context().lake.ledger.seals("shop", monitor) for home in (one, apart)]
        assert len(seals[0]) == HOURS
        assert [seal.digest for seal in seals[0]] == [seal.digest for seal in seals[1]]


def through_text(handover: Handover) -> Handover:
    return Handover.from_json(handover.to_json())
