"""Answers from the role to the sealed table: processor time a row, beyond the role's own, and memory over long ranges.

    python -m benchmarks.answers [--epochs 12] [--queries 50] [--ticks 288]

A coordinator publishes queries x ticks rows an epoch. The rows go the way of a run: to drafts, their records and
digests, the checks of `validate`, the seals, and the published table.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml

from jobs import quality
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.output import Output
from jobs.epoch.publish import publish
from jobs.epoch.rows import answer_rows
from jobs.lake import new_write
from jobs.lake.records import Part, recorded
from jobs.lake.seals import Seal
from monitoring_lib.answers import Answers
from monitoring_lib.config import load
from monitoring_lib.network import COORDINATOR
from monitoring_lib.tables import ANSWERS, DRAFTS

DAY = 86_400_000_000
SOURCE = {
    "name": "net", "format": "csv", "path": "data/*.csv", "epoch": "1d", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item"},
}  # fmt: skip
MONITOR = {"name": "busiest", "question": "top-k", "source": "net", "k": 3, "method": "caching"}


def role_answers(start: int, queries: int, ticks: int, rng: np.random.Generator) -> Answers:
    """What a role would publish: its own time is not counted."""
    rows = queries * ticks
    estimate = rng.normal(1000, 50, rows)
    width = np.abs(rng.normal(0, 5, rows))
    names = pa.array([f"query {number}" for number in range(queries)])
    return Answers.columns(
        rows,
        {
            "node": COORDINATOR, "tick": pa.array(np.repeat(start + np.arange(ticks) * (DAY // ticks), queries)),
            "key": names.take(pa.array(np.tile(np.arange(queries), ticks))), "rank": None,
            "estimate": pa.array(estimate), "low": pa.array(estimate - width), "high": pa.array(estimate + width),
            "confidence": 0.95,
        },
    )  # fmt: skip


def deployment(home: Path) -> Context:
    for name, content in {"farwatch": {}, "sources/net": SOURCE, "monitors/busiest": MONITOR}.items():
        path = home / "conf/base" / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return Context(load(home / "conf"), home)


def seal_answers(context: Context, epochs: int, queries: int, ticks: int) -> dict[str, float]:
    """Processor seconds of each part."""
    clock, rng = context.config.source("net").clock, np.random.default_rng(1)
    handover = Handover.begin("net", clock, clock.start_of(0), clock.start_of(epochs), [])
    output = Output(context.lake, handover, "resolve", new_write("resolve"))
    spent = dict.fromkeys(("role", "drafts", "validate", "seal", "publish"), 0.0)

    def spend(part: str, since: float) -> None:
        spent[part] += time.process_time() - since

    for epoch in range(epochs):
        begun = time.process_time()
        answers = role_answers(clock.start_of(epoch), queries, ticks, rng)
        spend("role", begun)
        begun = time.process_time()
        output.add(DRAFTS, answer_rows(answers, clock.start_of(epoch), "busiest", "caching", output.write))
        spend("drafts", begun)
    begun = time.process_time()
    output.finish()
    spend("drafts", begun)
    begun = time.process_time()
    kept = handover.local.written["drafts"]
    if kept is not None:
        findings = quality.check_rows(DRAFTS, pa.concat_tables(kept))
        assert all(finding.success for finding in findings)
    spend("validate", begun)
    begun = time.process_time()
    records = recorded(context.lake, [output.write], handover.span)
    seals, parent = [], ""
    for epoch in range(epochs):
        row = records[Part(output.write, "drafts", "busiest", "caching", clock.start_of(epoch))]
        seals.append(
            Seal(
                "net", "busiest", clock.start_of(epoch), 0, output.write, {"drafts": output.write},
                {"drafts:caching": row["digest"]}, parent=parent, counts={"answers": row["rows"]},
            )
        )  # fmt: skip
        parent = seals[-1].digest
    context.lake.ledger.seal(seals, clock.length)
    spend("seal", begun)
    begun = time.process_time()
    publish(context, "net", "busiest", clock.start_of(0))
    spend("publish", begun)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--ticks", type=int, default=288)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seal_answers(deployment(Path(folder) / "warm"), 1, asked.queries, asked.ticks)  # imports, first use
        context = deployment(Path(folder) / "home")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spent = seal_answers(context, asked.epochs, asked.queries, asked.ticks)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows = asked.epochs * asked.queries * asked.ticks
        published = sum(context.lake.centre.count(ANSWERS, ["monitor"], []).values())
    assert published == rows, (published, rows)
    beyond = sum(spent.values()) - spent["role"]
    parts = ", ".join(f"{part} {seconds / rows * 1e6:.2f}" for part, seconds in spent.items())
    print(f"{rows:,} rows, microseconds of processor a row: {parts}")
    print(f"beyond the role: {beyond / rows * 1e6:.2f} us a row (at most 5); peak memory {peak / 1024:,.0f} MB,")
    print(f"of which {max(0, peak - before) / 1024:,.0f} MB since the first epoch was sealed")


if __name__ == "__main__":
    main()
