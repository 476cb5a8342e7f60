"""What crosses the links of a tree, over real traces: `python -m benchmarks.tree [--only Twitter] [--write]`.

Every trace is replayed with all methods at once, fanout 6, and every epoch is judged against exact decayed counts.
Loads are entries a link and epoch, upwards; the first epoch, where `mixed` measures with raw counts, is counted apart.
With `--write` the tables go into docs/frequent-items.md. Ends with 1 where a promise is broken or a target missed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks._tree_plot import plot
from benchmarks._tree_traces import TRACES, Trace
from benchmarks.kernels import written
from monitoring_lib.epochs import Clock, parse_duration
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.frequent_items.methods import Bounds, Gradient
from monitoring_lib.protocols.frequent_items.question import FrequentItemsParams
from monitoring_lib.replay import Replay
from monitoring_lib.traffic import Loads

PAGE = Path(__file__).resolve().parents[1] / "docs" / "frequent-items.md"
SUPPORT, ERROR, DECAYS = "0.01", "0.005", ("0.9", "0.6", "1")
BASE = "full (1a)"
VARIANTS: dict[str, tuple[type[Method], dict[str, Any]]] = {
    BASE: (Gradient, {"strategy": "full", "first_level": 1}),
    "min-root-load": (Gradient, {"strategy": "min-root-load"}),
    "worst-case": (Gradient, {"strategy": "worst-case"}),
    "mixed": (Gradient, {"strategy": "mixed"}),
    "bounds, raw": (Bounds, {}),
    "bounds, upper": (Bounds, {"send": "upper"}),
}
LEAST = {
    ("Twitter at random", "min-root-load", "root"): 4.0,
    ("Twitter with home leaves", "min-root-load", "root"): 35.0,
    ("Twitter at random", "mixed", "heaviest"): 1.5,
    ("Twitter with home leaves", "mixed", "heaviest"): 2.7,
    ("Twitter at random", "bounds, raw", "root"): 3.0,
}
"""By how much a variant's load must be smaller than that of `full`, at decay 0.9."""


@dataclass
class Result:
    """One variant over one trace: loads without the first epoch, that of the first, answers, broken verdicts."""

    loads: Loads = field(default_factory=Loads)
    first: Loads = field(default_factory=Loads)
    listed: list[int] = field(default_factory=list)
    verdicts: int = 0
    broken: int = 0

    def load(self, which: str) -> float:
        heaviest = self.loads.heaviest
        entries = {"root": self.loads.root, "heaviest": heaviest[1] if heaviest else 0, "total": self.loads.total}
        return entries[which] / max(1, self.loads.epochs)

    def sizes(self) -> tuple[float, float]:
        """Items listed an epoch, in the second quarter of the epochs and in the last."""
        quarter = max(1, len(self.listed) // 4)
        early, late = self.listed[quarter : 2 * quarter] or self.listed, self.listed[-quarter:]
        return sum(early) / len(early), sum(late) / len(late)


def methods(decay: str) -> list[Method]:
    """One of each variant, under a name of its own."""
    params = FrequentItemsParams(support=Decimal(SUPPORT), error=Decimal(ERROR), decay=Decimal(decay))
    made = []
    for name, (kind, options) in VARIANTS.items():
        named: type[Method] = type(kind.__name__, (kind,), {"name": name})
        made.append(named(Ask(params, kind.Options(**options))))
    return made


def run(trace: Trace, decay: str, most: int | None) -> dict[str, Result]:
    replay = Replay(Clock(0, parse_duration(trace.epoch)), methods(decay))
    results = {name: Result() for name in VARIANTS}
    for number, synopses in enumerate(trace.epochs(most)):
        for step in replay.step(number, dict.fromkeys(synopses, ()), dict.fromkeys(replay.summaries, synopses)):
            result = results[step.method]
            (result.loads if number else result.first).add(step.moment, step.settled.messages)
            result.listed.append(max(0, len(step.settled.answers) - 1))
            result.verdicts += len(step.verdicts)
            result.broken += len(step.verdicts.where_broken())
    return results


def table(trace: Trace, decay: str, results: dict[str, Result]) -> list[str]:
    epochs = len(results[BASE].listed)
    lines = [
        f"{trace.name}, {epochs} epochs of {trace.epoch}, support {SUPPORT}, error {ERROR}, decay {decay}:",
        "",
        "| variant | root load | full / it | heaviest link | full / it | all links | items listed | broken |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        cells = []
        for which in ("root", "heaviest"):
            load = result.load(which)
            cells += [f"{load:,.1f}", f"{results[BASE].load(which) / load:.2f}" if load else "-"]
        listed = sum(result.listed) / max(1, len(result.listed))
        cells += [f"{result.load('total'):,.0f}", f"{listed:.1f}", f"{result.broken:,} of {result.verdicts:,}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    sample = results["mixed"].first
    return [*lines, "", f"The epoch in which `mixed` measures: {sample.root:,} entries at the root.", ""]


def by_decay(trace: Trace, results: dict[str, dict[str, Result]]) -> list[str]:
    """Loads do not depend on the decay; how many items the answer lists does."""
    told = [f"decay {decay}" for decay in results]
    lines = [
        f"{trace.name}: items listed an epoch, second quarter of the epochs to the last, and broken verdicts:",
        "",
        f"| variant | {' | '.join(f'{decay} | broken' for decay in told)} |",
        f"|---|{'---|---|' * len(told)}",
    ]
    for name in VARIANTS:
        cells = []
        for of in results.values():
            early, late = of[name].sizes()
            cells += [f"{early:.1f} to {late:.1f}", f"{of[name].broken:,} of {of[name].verdicts:,}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def missed(trace: Trace, decay: str, results: dict[str, Result]) -> list[str]:
    found = [
        f"{trace.name}, decay {decay}, {name}: {r.broken} verdicts broken" for name, r in results.items() if r.broken
    ]
    for (of, name, which), least in LEAST.items() if decay == DECAYS[0] else ():
        ratio = results[BASE].load(which) / max(results[name].load(which), 1e-9)
        if of == trace.name and ratio < least:
            found.append(f"{of}, {name}: {which} load {ratio:.2f} times smaller than full, less than {least}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="traces whose name contains one of these, with commas between them")
    parser.add_argument("--epochs", type=int, help="at most so many epochs of each trace")
    parser.add_argument("--decays", default=",".join(DECAYS))
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    given = parser.parse_args()
    lines: list[str] = []
    faults: list[str] = []
    drawn: dict[str, dict[str, tuple[float, float]]] = {}
    for trace in (trace for trace in TRACES if any(part in trace.name for part in given.only.split(","))):
        results = {decay: run(trace, decay, given.epochs) for decay in given.decays.split(",")}
        faults += [fault for decay, of in results.items() for fault in missed(trace, decay, of)]
        first, of = next(iter(results.items()))
        drawn[trace.name] = {name: (r.load("root"), r.load("heaviest")) for name, r in of.items()}
        told = [*table(trace, first, of), *by_decay(trace, results)]
        print("\n".join(told), flush=True)
        lines += told
        if given.write:
            PAGE.write_text(written(PAGE.read_text(), "loads", "\n".join(lines).strip()))
            plot({name: loads for name, loads in drawn.items() if "Twitter" in name}, PAGE.with_suffix(".svg"))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
