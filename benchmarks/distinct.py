"""What the methods of distinct-count send: `python -m benchmarks.distinct [--only wiki] [--write]`.

Each stream is replayed with every method, and every epoch is judged against the exact number. The first table reckons
as the paper does: 8 bytes an item, 4 bytes a bitmap of a whole sketch, a byte a new bit (two where the gap to the one
before is over 127; or the whole row of a level), no headers, both directions. The second gives the bytes of the ledger:
real names, frames, versions. Both are parts of what `exact` takes. Then the promise over many seeds, at every number of
items. With `--write` all of it goes into docs/distinct-count.md, with a plot beside it. Ends with 1 where a target is
missed, a promise is broken, or an encoding changes an answer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import _distinct_promise as promise
from benchmarks._distinct_traces import STREAMS, Stream
from benchmarks.kernels import written
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import Message
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.distinct_count.question import DistinctCountParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.summaries import Cell, Rows, Summary

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "distinct-count.md"
BITMAPS = 512
ITEM_BYTES = 8
ERROR = 0.1

Setting = tuple[str, dict[str, Any]]
SETTINGS: tuple[Setting, ...] = (
    ("exact", {}),
    ("repaid-sharing", {}),
    ("repaid-sharing", {"encoding": "items"}),
    ("no-sharing", {}),
    ("shared-count", {"lag": 0.03}),
    ("lazily-shared-sketch", {}),
    ("shared-sketch", {}),
    ("no-sharing", {"encoding": "items", "lag": 0.03}),
    ("no-sharing", {"encoding": "whole", "lag": 0.03}),
    ("lazily-shared-sketch", {"encoding": "whole", "lag": 0.015}),
)
MOST = {
    "repaid-sharing": {"synthetic": 0.007, "twitter": 0.016, "zeek": 0.24, "wiki": 0.09},
    "no-sharing": {"synthetic": 0.018, "twitter": 0.028, "zeek": 0.25, "wiki": 0.12},
}
"""Bytes with changed bits and lag 0, reckoned as the paper does, as parts of exact's: at most so many."""


@dataclass
class Cost:
    """What one setting sent and published."""

    reckoned: list[int] = field(default_factory=list)
    bytes: int = 0
    messages: int = 0
    estimates: list[float] = field(default_factory=list)
    worst: float = 0.0
    broken: int = 0

    def add(self, step: Step, method: Method) -> None:
        messages = step.settled.messages
        self.reckoned.append(sum(reckoned(method, message) for message in messages))
        self.bytes += sum(message.bytes for message in messages)
        self.messages += sum(message.links for message in messages)
        self.estimates += step.settled.answers.column("estimate")
        for verdict in step.verdicts:
            self.broken += verdict.confidence == 1 and not verdict.kept
            if verdict.promise == "count within bounds" and verdict.exact >= 20:
                self.worst = max(self.worst, verdict.error / verdict.exact)


def label(name: str, options: dict[str, Any]) -> str:
    said = [f"{value}" if key == "encoding" else f"{key} {value}" for key, value in options.items()]
    return name + (f" ({', '.join(said)})" if said else "")


def made(name: str, options: dict[str, Any]) -> Method:
    kind = find_method("distinct-count", name)
    chosen = kind.Options() if name == "exact" else kind.Options(bitmaps=BITMAPS, **options)
    return kind(Ask(DistinctCountParams(error=ERROR), chosen, Window()))


def built(summary: Summary, cell: Cell, names: pa.Array) -> Any:
    column = pa.array(hash_strings(names, SPARK_SEED)) if summary.hashed else names
    ones = pa.array(np.ones(len(names), np.int64))
    return summary.build(cell, Rows({"item": column}, ones, ones))


def reckoned(method: Any, message: Message) -> int:
    """Bytes without headers, whatever an item's name is."""
    letter: Any = message.delivery(method.letters).letter
    if message.kind in ("new-items", "bit-items"):
        size = ITEM_BYTES * len(letter.names)
    elif message.kind == "whole":
        size = len(letter.content)
    elif message.kind == "count":
        size = 8
    else:
        size = len(letter.levels) + len(letter.rows) + len(letter.listed)
    return size * message.links


def replayed(epochs: Iterable[Mapping[str, pa.Array]], settings: Sequence[Setting] = SETTINGS) -> dict[str, Cost]:
    """All settings side by side; by label."""
    methods = {label(*setting): made(*setting) for setting in settings}
    costs = {name: Cost() for name in methods}
    replay = Replay(Clock(0, 1), list(methods.values()), names=list(methods))
    for at, sites in enumerate(epochs):
        synopses = {
            summary: {site: built(summary, Cell(site, at, at, at + 1, 1), names) for site, names in sites.items()}
            for summary in replay.summaries
        }
        for step in replay.step(at, dict.fromkeys(sites, ()), synopses):
            costs[step.method].add(step, methods[step.method])
    return costs


def measured(stream: Stream) -> dict[str, Cost]:
    costs = replayed(stream.different_items())
    base = sum(costs["exact"].reckoned)
    parts = ", ".join(f"{setting} {sum(cost.reckoned) / base:.4f}" for setting, cost in costs.items())
    print(f"{stream.name}: {len(costs['exact'].reckoned)} epochs; {parts}", file=sys.stderr, flush=True)
    return costs


def faults(found: dict[str, dict[str, Cost]]) -> list[str]:
    missed = []
    for trace, costs in found.items():
        base = sum(costs["exact"].reckoned)
        for name, most in MOST.items():
            part = sum(costs[name].reckoned) / base
            if part > most[trace]:
                missed.append(f"{name} takes {part:.4f} of exact's bytes on {trace}, more than {most[trace]}")
        if costs["repaid-sharing"].estimates != costs["repaid-sharing (items)"].estimates:
            missed.append(f"the encoding changed an answer on {trace}")
        missed += [f"{setting} broke an always-promise on {trace}" for setting, cost in costs.items() if cost.broken]
    return missed


def table(found: dict[str, dict[str, Cost]], headers: bool) -> list[str]:
    """Parts of exact's bytes; with headers, those of the ledger."""
    lines = ["| method | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for name, options in SETTINGS:
        cells = []
        for costs in found.values():
            cost, base = costs[label(name, options)], costs["exact"]
            part = cost.bytes / base.bytes if headers else sum(cost.reckoned) / sum(base.reckoned)
            cells.append(f"{part:.4f}" + (f" ({cost.messages:,})" if headers else ""))
        lines.append(f"| {label(name, options)} | " + " | ".join(cells) + " |")
    total = [f"{(c['exact'].bytes if headers else sum(c['exact'].reckoned)):,}" for c in found.values()]
    lines.append("| bytes of exact | " + " | ".join(total) + " |")
    return lines


def errors(found: dict[str, dict[str, Cost]]) -> list[str]:
    """The largest relative error at any epoch with at least 20 items: one draw of the hash."""
    lines = ["| method | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for name, options in SETTINGS:
        cells = [f"{costs[label(name, options)].worst:.3f}" for costs in found.values()]
        lines.append(f"| {label(name, options)} | " + " | ".join(cells) + " |")
    return lines


def plot(streams: Sequence[Stream], found: dict[str, dict[str, Cost]]) -> None:
    """Bytes sent up to each epoch, as an SVG beside the page."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "distinct", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(streams), figsize=(4.2 * len(streams), 3), squeeze=False)
    for panel, stream in zip(panels[0], streams, strict=True):
        for setting in ("exact", "lazily-shared-sketch", "no-sharing", "repaid-sharing"):
            sums = np.cumsum(found[stream.name][setting].reckoned)
            at = np.unique(np.linspace(0, len(sums) - 1, 150).astype(int))
            panel.plot(at + 1, sums[at] / 1000, label=setting)
        panel.set(xlabel="epoch", ylabel="kB sent so far, both ways", yscale="log")
        panel.set_title(f"{stream.name}: {stream.title}", fontsize=8)
        panel.grid(alpha=0.3)
    panels[0][-1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(PAGE.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def page_lines(found: dict[str, dict[str, Cost]]) -> list[str]:
    reckoning = (
        f"{BITMAPS} bitmaps, 32 levels, {ITEM_BYTES} bytes an item, 1 or 2 bytes a bit, no headers, lag 0 unless said"
    )
    return [
        f"Parts of the bytes of `exact`, both directions: {reckoning}.", "", *table(found, headers=False), "",
        "The same by the ledger, with names, frames and versions (messages in brackets).", "",
        *table(found, headers=True), "",
        "Largest relative error at any epoch with at least 20 items, one seed.", "", *errors(found),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[stream.name for stream in STREAMS])
    parser.add_argument("--runs", type=int, default=promise.RUNS, help="seeds under which the promise is judged")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/distinct-count.md")
    given = parser.parse_args()
    if given.write and given.only:
        parser.error("--write: the page takes the whole table; leave --only out")
    chosen = [stream for stream in STREAMS if given.only in (None, stream.name)]
    found = {stream.name: measured(stream) for stream in chosen}
    kept = promise.judged(given.runs)
    lines, promised = page_lines(found), promise.lines(kept)
    print("\n".join([*lines, "", *promised]))
    if given.write:
        shown = [*lines, "", "![Bytes sent so far, by epoch](distinct-count.svg)"]
        page = written(PAGE.read_text(encoding="utf-8"), "distinct-count", "\n".join(shown))
        PAGE.write_text(written(page, "promise", "\n".join(promised)), encoding="utf-8")
        plot([stream for stream in chosen if stream.name in ("twitter", "wiki")], found)
    missed = [*faults(found), *promise.faults(kept)]
    print("\n".join(missed) or "all targets met", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
