"""What the methods of top-k send, over real traces: `python -m benchmarks.topk [--only twitter] [--write]`.

Every trace is replayed with all methods at once, growing and windowed, at several tolerances, and every epoch is judged
against exact sums. The table gives each method's entries and bytes, both ways, as parts of caching's. Margins with both
options 0 runs beside them and must be caching. With `--write` the table goes into docs/topk.md, with a plot beside it.
`--fuzz N` runs N random scenarios a method instead, `--events` measures `constraints` fed event by event against
np.bincount. Ends with 1 where a verdict is broken or a target missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._measure import Workload
from benchmarks._topk_events import LEAST, SITES, feed_events
from benchmarks._topk_plot import plot
from benchmarks._topk_traces import TRACES, Trace
from benchmarks.kernels import written
from monitoring_lib.epochs import Clock, Window, parse_duration
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.topk.margins import Margins, MarginsOptions
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.replay import Replay
from monitoring_lib.synopses.counts import Counts

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "topk.md"
METHODS = ("caching", "margins", "constraints", "requery")
TOLERANCES = (0, 50, 500)
MOST = {
    ("margins", "twitter"): (0.035, 0.045),
    ("margins", "flights"): (0.45, 0.55),
    ("margins", "retail"): (0.10, 0.40),
    ("margins", "zeek"): (1.1, 1.15),
    ("margins", "wiki"): (1.3, None),
    ("constraints", "twitter"): (0.13, 0.18),
}
"""Entries of a method at tolerance 0, as parts of caching's: at most so many growing, and windowed."""
MORE_IN_BYTES = 1.1
"""How much larger margins' part may be in bytes."""


@dataclass
class Cost:
    """What one method sent, epoch by epoch, and what the judge found."""

    entries: list[int] = field(default_factory=list)
    bytes: int = 0
    messages: int = 0
    rounds: int = 0
    verdicts: int = 0
    broken: int = 0


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    trace: Trace
    window: int | None
    tolerance: int
    costs: dict[str, Cost]
    telling_all: Cost
    """Of margins with both options 0: that of caching, entry for entry."""

    def part(self, method: str, unit: str = "entries") -> float:
        own, base = self.costs[method], self.costs["caching"]
        if unit == "bytes":
            return own.bytes / max(1, base.bytes)
        return sum(own.entries) / max(1, sum(base.entries))

    def most(self, method: str) -> float | None:
        growing, windowed = MOST.get((method, self.trace.name), (None, None)) if not self.tolerance else (None, None)
        return growing if self.window is None else windowed

    def missed(self) -> list[str]:
        """What is not as it must be, in words."""
        found = [f"{name}: {cost.broken} verdicts broken" for name, cost in self.costs.items() if cost.broken]
        if self.telling_all != self.costs["caching"]:
            found.append("margins with both options 0 does not send what caching sends")
        for method in self.costs:
            most = self.most(method)
            if most is None:
                continue
            if self.part(method) > most:
                found.append(f"{method}: {self.part(method):.3f} of caching's entries, more than {most}")
            if method == "margins" and self.part(method, "bytes") > MORE_IN_BYTES * most:
                found.append(
                    f"{method}: {self.part(method, 'bytes'):.3f} of caching's bytes, more than {most} by a tenth"
                )
        return found


def run(trace: Trace, epochs: Sequence[dict[str, Counts]], window: int | None, tolerance: int) -> Case:
    params = TopKParams(k=trace.k, tolerance=Decimal(tolerance), signed=trace.signed)
    kinds = [find_method("top-k", name) for name in METHODS]
    usual = [kind(Ask(params, kind.Options(), Window(window))) for kind in kinds]
    costs = replayed(trace, epochs, usual)
    telling_all = Margins(Ask(params, MarginsOptions(untracked=Decimal(0), granted=Decimal(0)), Window(window)))
    return Case(trace, window, tolerance, costs, replayed(trace, epochs, [telling_all])["margins"])


def replayed(trace: Trace, epochs: Sequence[dict[str, Counts]], methods: Sequence[Method]) -> dict[str, Cost]:
    replay = Replay(Clock(0, parse_duration(trace.epoch)), methods)
    costs = {method.name: Cost() for method in methods}
    for number, synopses in enumerate(epochs):
        for step in replay.step(number, dict.fromkeys(synopses, ()), dict.fromkeys(replay.summaries, synopses)):
            cost, messages = costs[step.method], step.settled.messages
            cost.entries.append(sum(message.entries for message in messages))
            cost.bytes += sum(message.bytes for message in messages)
            cost.messages += sum(message.links for message in messages)
            cost.rounds = max(cost.rounds, *(message.round for message in messages), 0)
            cost.verdicts += len(step.verdicts)
            cost.broken += sum(not verdict.kept for verdict in step.verdicts)
    return costs


HEAD = (
    "| trace | window | tolerance | caching: entries | MB | margins | in bytes | constraints | in bytes | requery "
    "| in bytes | verdicts kept |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
)


def line(case: Case) -> str:
    base = case.costs["caching"]
    window = "growing" if case.window is None else f"{case.window} epochs"
    parts = [_part(case.part(name, unit)) for name in METHODS[1:] for unit in ("entries", "bytes")]
    broken, judged = sum(c.broken for c in case.costs.values()), sum(c.verdicts for c in case.costs.values())
    kept = f"all {judged:,}" if not broken else f"NOT {broken:,} of {judged:,}"
    cells = [case.trace.name, window, str(case.tolerance), f"{sum(base.entries):,}", f"{base.bytes / 1e6:.2f}"]
    return f"| {' | '.join([*cells, *parts, kept])} |"


def _part(number: float) -> str:
    return f"{number:.3f}" if number < 1 else f"{number:.2f}" if number < 10 else f"{number:.0f}"


def cases(traces: Sequence[Trace], tolerances: Sequence[int]) -> Iterator[Case]:
    for trace in traces:
        epochs = list(trace.epochs())
        for window in trace.windows:
            for tolerance in tolerances:
                yield run(trace, epochs, window, tolerance)


def fuzz(scenarios: int) -> int:
    """Made-up streams for every method, with every combination of options drawn at random; how many broke."""
    from tests.protocols.topk.driver import draw_scenario, run_scenario
    from tests.protocols.topk.test_promise import FAMILY, OPTIONS

    broken = 0
    for name, kind in sorted(FAMILY.items()):
        begun = time.perf_counter()
        for seed in range(scenarios):
            chance = Random(f"{name} {seed}")
            scenario, options = draw_scenario(chance), chance.choice(OPTIONS[name])
            try:
                run_scenario(scenario, kind, options, restored=seed % 3 == 0)  # type: ignore[arg-type]
            except Exception as error:  # reported, counted, and the search goes on
                broken += 1
                print(f"{name}, scenario {seed}, {options}, {scenario.params}, {scenario.window}: {error!r}")
        print(f"{name}: {scenarios} scenarios in {time.perf_counter() - begun:.0f} s", flush=True)
    return broken


def events(history: float) -> int:
    """Prints how fast events are fed; whether that is too slow."""
    workload = Workload(10_000_000)
    found = feed_events(workload, history, rounds=5)
    print(
        f"{workload.events:,} events by Zipf's law over {SITES} sites, {history:.0%} of them there at the start:"
        f" {found.resolutions:,} resolutions, {found.messages:,} messages"
    )
    print(
        f"{found.own:.0f} ns an event, np.bincount {found.counting:.1f} ns: {found.part:.3f} of its rate"
        f" (at least {LEAST})"
    )
    return int(found.part < LEAST)


def table(options: argparse.Namespace) -> int:
    chosen = [trace for trace in TRACES if options.only in trace.name]
    if not chosen:
        raise SystemExit(f"--only {options.only}: no such trace; there are {', '.join(t.name for t in TRACES)}")
    absent = [trace.file for trace in chosen if not trace.path.exists()]
    if absent:
        print(f"nothing measured: {', '.join(absent)} not in {chosen[0].path.parent}")
        return 0
    found, missed = [], 0
    print(HEAD, flush=True)
    for case in cases(chosen, options.tolerances):
        found.append(case)
        print(line(case), flush=True)
        for words in case.missed():
            missed += 1
            print(f"  {case.trace.name}: {words}", flush=True)
    print(f"{len(found)} cases, {missed} faults; margins with both options 0 was looked at in each", flush=True)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(written(page, "costs", "\n".join([HEAD, *map(line, found)])), encoding="utf-8")
        plot(_curves(found), PAGE.with_suffix(".svg"))
    return int(missed > 0)


def _curves(found: Sequence[Case]) -> dict[str, dict[str, list[int]]]:
    """Of the first trace at the first tolerance: by window and method, the entries of each epoch."""
    first = [case for case in found if (case.trace, case.tolerance) == (found[0].trace, found[0].tolerance)]
    return {
        f"{case.trace.name}, {'growing' if case.window is None else f'window of {case.window} epochs'}": {
            name: cost.entries for name, cost in case.costs.items()
        }
        for case in first
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="traces whose name contains this")
    parser.add_argument("--tolerances", type=_numbers, default=TOLERANCES, help="0,50,500")
    parser.add_argument("--write", action="store_true", help=f"write table and plot into {PAGE.relative_to(PROJECT)}")
    parser.add_argument("--fuzz", type=int, metavar="N", help="run N random scenarios a method instead")
    parser.add_argument("--events", action="store_true", help="measure constraints fed event by event instead")
    parser.add_argument("--history", type=float, default=0.03, help="with --events: part that is there at the start")
    options = parser.parse_args()
    if options.fuzz is not None:
        return int(fuzz(options.fuzz) > 0)
    if options.events:
        return events(options.history)
    if options.write and (options.only or tuple(options.tolerances) != TOLERANCES):
        raise SystemExit("--write: the page takes the whole table; leave --only and --tolerances out")
    return table(options)


def _numbers(text: str) -> tuple[Any, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
