"""What knowing the top k at every site costs: `python -m benchmarks.everywhere [--only Twitter] [--write]`.

Every real trace is replayed with all variants at once, and every view of every epoch is judged against the exact list.
Entries are pairs of an item and its sum, counted once for each link; the epochs in which the window fills are left out.
With `--write` the tables and the plot go into docs/top-k-everywhere.md. Ends with 1 where a promise is broken or a
target missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._everywhere_plot import plot
from benchmarks._topk_traces import Trace
from benchmarks.kernels import written
from monitoring_lib.epochs import Clock, Window, parse_duration
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.top_k_everywhere.methods import FullLists, Topico
from monitoring_lib.protocols.top_k_everywhere.question import TopKEverywhereParams
from monitoring_lib.replay import Replay
from monitoring_lib.synopses.counts import Counts

PAGE = Path(__file__).resolve().parents[1] / "docs" / "top-k-everywhere.md"
BASE, BEST = "full-lists", "early stop, changes only"
VARIANTS: dict[str, tuple[type[Method], dict[str, Any]]] = {
    BASE: (FullLists, {}),
    "one round": (Topico, {"rounds": 1, "early_stop": False, "changes_only": False}),
    "three rounds": (Topico, {"rounds": 3, "early_stop": False, "changes_only": False}),
    "early stop": (Topico, {"rounds": 3, "early_stop": True, "changes_only": False}),
    BEST: (Topico, {}),
}
TWITTER, FLIGHTS = "twitter_cache_cluster52_1M.csv.xz", "flights_2001_jan-apr.csv.xz"


@dataclass(frozen=True)
class Case:
    """A trace and how long it is watched; the window is three epochs."""

    trace: Trace
    epochs: int
    most: float | None = None
    """The share of full lists' entries that the default may send."""


CASES = (
    Case(Trace("Twitter, 8 sites", TWITTER, "5s", 20, (3,), split_over=8), 23, 0.022),
    Case(Trace("Twitter, 29 sites", TWITTER, "5s", 20, (3,), split_over=29), 23, 0.12),
    Case(Trace("flights by days", FLIGHTS, "1d", 20, (3,)), 8),
)
WIDE = Case(Trace("Twitter, 120 sites", TWITTER, "5s", 20, (3,), split_over=120), 6)


@dataclass
class Result:
    """One variant: entries, rounds, epochs with a wrong view, and the mean rank distance, by epoch."""

    entries: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    wrong: int = 0
    broken: int = 0
    distances: list[float] = field(default_factory=list)


def methods(case: Case, names: Sequence[str]) -> list[Method]:
    params, window = TopKEverywhereParams(k=case.trace.k), Window(length=case.trace.windows[0])
    made = []
    for name in names:
        kind, options = VARIANTS[name]
        named: type[Method] = type(kind.__name__, (kind,), {"name": name})
        made.append(named(Ask(params, kind.Options(**options), window)))
    return made


def run(case: Case, epochs: Sequence[dict[str, Counts]], names: Sequence[str]) -> dict[str, Result]:
    replay = Replay(Clock(0, parse_duration(case.trace.epoch)), methods(case, names))
    results = {name: Result() for name in names}
    for number, synopses in enumerate(epochs):
        for step in replay.step(number, dict.fromkeys(synopses, ()), dict.fromkeys(replay.summaries, synopses)):
            lists = [verdict for verdict in step.verdicts if verdict.key == ""]
            result = results[step.method]
            result.broken += len(step.verdicts.where_broken())
            if number < (case.trace.windows[0] or 0):
                continue
            messages = step.settled.messages
            result.entries.append(sum(message.entries for message in messages))
            result.rows.append(len(messages))
            result.rounds.append(1 + max((message.round for message in messages), default=-1))
            result.wrong += any(verdict.error > 0 for verdict in lists)
            result.distances.append(sum(verdict.error for verdict in lists) / max(1, len(lists)))
    return results


def share(results: dict[str, Result], name: str) -> float:
    return sum(results[name].entries) / max(1, sum(results[BASE].entries))


def table(case: Case, results: dict[str, Result]) -> list[str]:
    trace, counted = case.trace, len(results[BASE].entries)
    lines = [
        f"{trace.name}: k = {trace.k}, a window of {trace.windows[0]} epochs of {trace.epoch}, {counted} epochs:",
        "",
        "| variant | entries an epoch | of full lists | rounds | epochs with a wrong view | mean rank distance |",
        "|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        entries, rounds, distance = (
            sum(by) / max(1, counted) for by in (result.entries, result.rounds, result.distances)
        )
        part = share(results, name)
        wrong = f"{result.wrong} of {counted}"
        lines.append(f"| {name} | {entries:,.0f} | {part:.1%} | {rounds:.1f} | {wrong} | {distance:.4f} |")
    return [*lines, ""]


def missed(case: Case, results: dict[str, Result]) -> list[str]:
    found = [f"{case.trace.name}, {name}: {r.broken} verdicts broken" for name, r in results.items() if r.broken]
    found += [f"{case.trace.name}, {n}: wrong lists" for n, r in results.items() if r.wrong and n != "one round"]
    if case.most is not None and share(results, BEST) > case.most:
        found.append(f"{case.trace.name}: {share(results, BEST):.1%} of full lists, more than {case.most:.1%}")
    return found


def wide() -> tuple[str, list[str]]:
    """Many sites: what an epoch takes in one process, and how many rows of messages it leaves."""
    epochs = _first(WIDE)
    before = time.process_time()
    results = run(WIDE, epochs, [BEST])
    seconds, rows = (time.process_time() - before) / len(epochs), max(results[BEST].rows)
    line = (
        f"{WIDE.trace.name}: {seconds:.1f} s of processor an epoch with the judge, at most {rows} rows of messages an"
        " epoch (a broadcast is one row)."
    )
    return line, [] if seconds <= 5 and rows <= 6 * 120 else [line]


def _first(case: Case) -> list[dict[str, Counts]]:
    return [epoch for epoch, _ in zip(case.trace.epochs(), range(case.epochs), strict=False)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="traces whose name contains this")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}; needs every trace")
    given = parser.parse_args()
    if given.write and given.only:
        parser.error("--write: the page takes all tables; leave --only out")
    lines: list[str] = []
    faults: list[str] = []
    curves: dict[str, dict[str, list[int]]] = {}
    for case in (case for case in CASES if given.only in case.trace.name):
        results = run(case, _first(case), list(VARIANTS))
        lines += table(case, results)
        faults += missed(case, results)
        curves[case.trace.name] = {name: result.entries for name, result in results.items()}
        print("\n".join(lines[-len(VARIANTS) - 5 :]), flush=True)
    if given.only in WIDE.trace.name:
        line, slow = wide()
        lines.append(line)
        faults += slow
        print(line)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(), "costs", "\n".join(lines).strip()))
        plot(curves, PAGE.with_suffix(".svg"))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
