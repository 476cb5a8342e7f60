"""Sites in tasks, without a JVM: what Spark would map over rows is mapped here, and gives what a process gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from jobs.epoch.rows import table_of
from jobs.lake import column_list
from jobs.sites.needed import Needed
from jobs.sites.shared import COLLECTED, DIGEST, SIZE, SharedJobs, SiteWork
from jobs.sites.task import INPUT, OUTPUT, SiteTasks
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import MESSAGES, SITE_STATES, SYNOPSES, Table
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

MONITORS = (
    BUSIEST | {"shadow": ["margins", "constraints"]},
    {"name": "everywhere", "question": "top-k-everywhere", "source": "shop", "k": 2, "window": "2h"},
    {"name": "frequent", "question": "frequent-items", "source": "shop", "support": 0.2, "error": 0.1, "decay": 0.5,
     "tree": {"fanout": 2}},
    {"name": "recent", "question": "top-k", "source": "shop", "k": 1, "window": "2h", "method": "margins"},
)  # fmt: skip
HOURS = 5


class TasksHere(SharedJobs):
    """Tasks that run in this process, over rows that are read without Spark."""

    jobs = 0

    def _mapped(self, needed: Needed, tasks: SiteTasks, questions: Sequence[SiteWork]) -> pa.Table:
        TasksHere.jobs += 1
        rows = pa.Table.from_pylist([*needed.here, *self._read(needed)], INPUT)
        rows = rows.sort_by([(name, "ascending") for name in ("owner", "site", "epoch", "round")])
        found = pa.Table.from_batches(tasks(iter(rows.to_batches(max_chunksize=3))), OUTPUT).to_pylist()
        for owner, question in enumerate(questions):
            self._write([row for row in found if (row["owner"], row["kind"]) == (owner, "state")], question)
        for row in found:
            if row["kind"] == "state":
                row[DIGEST], row[SIZE] = hashlib.sha256(row["payload"]).hexdigest(), len(row["payload"])
        return pa.Table.from_pylist(found, COLLECTED)

    def _write(self, states: Sequence[dict[str, Any]], question: SiteWork) -> None:
        start = to_datetime(question.run.start_of(question.task.epoch))
        columns = {name: [row[name] for row in states] for name in ("site", "form", "payload")}
        names = {"monitor": question.run.monitor.name, "method": question.task.method.name, "write": question.write}
        rows = table_of(SITE_STATES, len(states), {**columns, **names, "epoch_start": start, "day": start.date()})
        self.lake.append(SITE_STATES, rows)

    def _read(self, needed: Needed) -> Iterator[dict[str, Any]]:
        def all_of(table: Table) -> list[dict[str, Any]]:
            rows = self.lake.store_of(table).read(table)
            starts = column_list(rows, "epoch_start")
            return [row | {"epoch_start": start} for row, start in zip(rows.to_pylist(), starts, strict=True)]

        def shaped(row: dict[str, Any], owner: int, site: str, kind: str, **more: Any) -> dict[str, Any]:
            epoch = needed.clock.epoch_of(row["epoch_start"])
            return {**row, "letter": row.get("kind"), "owner": owner, "site": site, "kind": kind, "epoch": epoch} | more

        states, synopses, messages = map(all_of, (SITE_STATES, SYNOPSES, MESSAGES))
        for owner, *cell in needed.cells["states"]:
            names = ("monitor", "method", "site", "epoch_start", "write")
            yield from (shaped(row, owner, cell[2], "state") for row in states if [row[n] for n in names] == cell)
        for owner, into, *cell in needed.cells["synopses"]:
            names = ("summary", "site", "epoch_start", "write")
            yield from (shaped(row, owner, cell[1], into) for row in synopses if [row[n] for n in names] == cell)
        for owner, *cell in needed.cells["spoken"]:
            names = ("monitor", "method", "epoch_start", "write")
            for row in (row for row in messages if [row[n] for n in names] == cell):
                for whose, site, node, since in needed.cells["ends"]:
                    if whose == owner and needed.clock.epoch_of(row["epoch_start"]) >= since:
                        if node in row["receivers"]:
                            yield shaped(row, owner, site, "received")
                        if node == row["sender"] and row["round"]:
                            yield shaped(row, owner, site, "sent")
        for owner, site, node, number in needed.heard:
            yield needed.letters[number] | {"owner": owner, "site": site, "kind": "received", "receivers": [node]}


def sealed_home(folder: Path, place: str) -> SealedHome:
    home = SealedHome(folder, monitors=MONITORS)
    (folder / "conf/base/farwatch.yml").write_text(f"sites_run: {place}\n", "utf-8")
    for hour in range(HOURS):
        home.land(
            bought(hour, north="aab"[hour % 3 :] + "c", south="bcc" * (hour % 2), **({"late": "bd"} if hour else {}))
        )
    return home


def digests(home: SealedHome) -> dict[tuple[str, int], str]:
    ledger = home.context().lake.ledger
    return {
        (one["name"], seal.epoch_start): seal.digest for one in MONITORS for seal in ledger.seals("shop", one["name"])
    }


@pytest.mark.parametrize("cut", [(0, HOURS), (0, 1, HOURS), (0, 2, 3, HOURS)], ids=str)
def test_a_range_in_tasks_equals_the_same_range_in_a_process(tmp_path: Path, cut: tuple[int, ...]) -> None:
    here, there = (sealed_home(tmp_path / place, place) for place in ("process", "spark"))
    ranges = list(pairwise(cut))
    TasksHere.jobs = 0
    for home in (here, there):
        with patch("jobs.verbs.observe.SharedJobs", TasksHere), patch("jobs.verbs.resolve.SharedJobs", TasksHere):
            for first, last in ranges:
                missing = {"south": "silent"} if first <= 2 < last and len(cut) > 3 else None
                home.run(first, last, missing)
    assert len(digests(here)) == len(MONITORS) * HOURS
    assert digests(there) == digests(here)
    methods = sum(1 + len(one.get("shadow", ())) for one in MONITORS)
    assert HOURS <= TasksHere.jobs < HOURS * methods, "one job for all that observe, not one for each"
