"""What the methods of aggregates send and keep: `python -m benchmarks.aggregates [--part costs] [--write]`.

Parts: `costs` (all methods and both filters, as parts of `uniform` with the paper's filter), `promise` (every row of
every tick judged in exact numbers, for seven sets of queries), `experiment` (the paper's own, on its axes), `speed`
(200 objects and 200 queries), `plot` (one query's band). With `--write` each part goes into docs/aggregates.md.
Ends with 1 where a verdict is broken or a target missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks._aggregates_experiment import five_queries, ideal, many_hosts
from benchmarks._aggregates_plot import plot
from benchmarks._aggregates_queries import cost_sets, promise_sets
from benchmarks._aggregates_runs import Cost, method, replayed, table
from benchmarks._aggregates_traces import TRACES, Trace
from benchmarks.kernels import written
from monitoring_lib.engine import Network
from monitoring_lib.methods import Moment
from monitoring_lib.names import Names
from monitoring_lib.protocols.aggregates.readings import Readings
from monitoring_lib.topology import Roster

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "aggregates.md"
METHODS = ("uniform", "waterfill", "text", "quiet", "curves", "optimised", "none")
FILTERS = ("recentre", "runs")
MOST_RUNS, MOST_WATERFILL, MOST_MICROSECONDS = 0.78, 0.72, 5.0
"""`runs` against `recentre` at equal widths; waterfill with runs against uniform with recentre; a tick."""


@dataclass
class Report:
    """What is printed and written, and which targets were missed."""

    traces: list[Trace]
    epochs: int | None
    write: bool
    missed: list[str] = field(default_factory=list)

    def put(self, marker: str, text: str) -> None:
        print(f"{text}\n", flush=True)
        if self.write:
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), marker, text), encoding="utf-8")

    def at_most(self, value: float, most: float, what: str) -> None:
        if value > most:
            self.missed.append(f"{what}: {value:.2f}, at most {most:g} was asked")


def costs(report: Report) -> None:
    rows, equal = [], []
    for trace in report.traces:
        for asked, queries in cost_sets(trace).items():
            found: dict[tuple[str, str], Cost] = {}
            for filter_ in FILTERS:
                for name in METHODS:
                    running = method(name, queries, trace.ticks, trace.scale, filter=filter_)
                    found[name, filter_], _ = replayed(trace, running, report.epochs)
            base = found["uniform", "recentre"].entries
            for filter_ in FILTERS:
                parts = [f"{found[name, filter_].entries / base:.2f}" for name in METHODS]
                rows.append([trace.name, asked, f"{base:,}", f"`{filter_}`", *parts])
                print(" | ".join(rows[-1]), flush=True)
            saved = found["uniform", "runs"].entries / base
            equal.append([trace.name, asked, f"{saved:.2f}"])
            report.at_most(saved, MOST_RUNS, f"{trace.name}, {asked}: runs against recentre")
            report.at_most(
                found["waterfill", "runs"].entries / base, MOST_WATERFILL, f"{trace.name}, {asked}: waterfill"
            )
            report.at_most(sum(cost.broken for cost in found.values()), 0, f"{trace.name}, {asked}: broken verdicts")
    head = ["trace", "queries", "entries of uniform, recentre", "filter", *(f"`{name}`" for name in METHODS)]
    report.put("costs", table(head, rows))
    report.put("filters", table(["trace", "queries", "entries with `runs`, of those with `recentre`"], equal))


def promise(report: Report) -> None:
    rows = []
    for trace in report.traces:
        for asked, queries in promise_sets(trace).items():
            total = Cost()
            for filter_ in FILTERS:
                running = method("waterfill", queries, trace.ticks, trace.scale, "tick", filter=filter_)
                cost, _ = replayed(trace, running, report.epochs or trace.judged)
                total.verdicts, total.broken = total.verdicts + cost.verdicts, total.broken + cost.broken
            rows.append([trace.name, asked, f"{total.verdicts:,}", f"{total.broken}"])
            print(" | ".join(rows[-1]), flush=True)
            report.at_most(total.broken, 0, f"{trace.name}, {asked}: broken verdicts")
    report.put("promise", table(["trace", "queries", "verdicts", "broken"], rows))


def experiment(report: Report) -> None:
    report.put("ideal", ideal())
    report.put("hosts", many_hosts())
    report.put("traffic", five_queries())


def microseconds(publish: str) -> float:
    """Of processor a tick, for 200 objects at 10 sites and 200 queries, beyond reading; the best of 11 epochs."""
    rng = np.random.default_rng(1)
    objects, ticks, epochs = 200, 2000, 12
    names = [f"o{number:03}" for number in range(objects)]
    chosen = [rng.choice(objects, 40, replace=False) for _ in range(200)]
    queries = [
        {"name": f"q{at}", "ask": "sum", "objects": [names[i] for i in some], "precision": 4000}
        for at, some in enumerate(chosen)
    ]
    running = method("waterfill", queries, ticks, 1, publish)
    values = rng.integers(-30, 31, (objects, ticks * epochs)).cumsum(axis=1)
    sites = [f"s{number}" for number in range(10)]
    network = Network(running)
    topology = running.topology(Roster(tuple(sites), {}))
    spent = []
    for epoch in range(epochs):
        at = np.arange(epoch * ticks, (epoch + 1) * ticks)
        arriving = {
            site: Readings(
                Names(names[part * 20 : part * 20 + 20]), np.full(20, ticks), np.tile(at, 20),
                values[part * 20 : part * 20 + 20, at].reshape(-1),
            )
            for part, site in enumerate(sites)
        }  # fmt: skip
        moment = Moment(epoch, epoch * ticks, (epoch + 1) * ticks, 0, topology, tuple(sites))
        begun = time.process_time()
        network.step(moment, arriving, {})
        spent.append((time.process_time() - begun) / ticks * 1e6)
    return min(spent[1:])


def speed(report: Report) -> None:
    found, publishing = microseconds("epoch"), microseconds("tick")
    report.put(
        "speed",
        f"200 objects at 10 sites and 200 queries, both ends, messages encoded and decoded: {found:.1f} us of\n"
        f"processor a tick (at most {MOST_MICROSECONDS:g} was asked); with 200 rows published for every tick:"
        f" {publishing:.1f} us.",
    )
    report.at_most(found, MOST_MICROSECONDS, "microseconds a tick")


def band(report: Report) -> None:
    """Drawn from a run; the page shows the picture."""
    trace = TRACES[0]
    running = method("waterfill", cost_sets(trace)["one mean"], trace.ticks, trace.scale, "tick")
    _, rows = replayed(trace, running, 4)
    if report.write:
        plot(rows, PAGE.with_suffix(".svg"))


PARTS: dict[str, Callable[[Report], None]] = {
    "costs": costs, "promise": promise, "experiment": experiment, "speed": speed, "plot": band,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be given several times")
    parser.add_argument("--only", default="", help="run the traces whose name contains this")
    parser.add_argument("--epochs", type=int, help="stop after so many epochs of each trace")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    options = parser.parse_args()
    traces = [trace for trace in TRACES if options.only.lower() in trace.name.lower()]
    report = Report(traces, options.epochs, options.write)
    for name in options.part or PARTS:
        PARTS[name](report)
    print(*report.missed, sep="\n")
    sys.exit(bool(report.missed))


if __name__ == "__main__":
    main()
