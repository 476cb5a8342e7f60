"""Tables and plot of docs/recent-counts.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._plotting import panels_of, saved
from benchmarks._window_traces import Trace
from monitoring_lib.codec import encode
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.recent_counts.every_update import EveryUpdate
from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.protocols.recent_counts.merged.node import together
from monitoring_lib.protocols.recent_counts.merged.view import Ranged
from monitoring_lib.protocols.recent_counts.queries import RecentCountsParams
from monitoring_lib.replay import Replay, Step
from monitoring_lib.tick_counts import TickCounts

TICK, TICKS, SPAN = 1_000_000, 5, 20
EPOCH = TICK * TICKS
MILLION_TICKS, MILLION_SPAN = 10, 60


class Result(NamedTuple):
    """One run: the stated and the largest seen error of a counter, the largest error of an item and the share of items
    off by more than `error`, and bytes: sent, sent by every-update, of one site's sketch and of its exact table."""

    label: str
    stated: float
    worst_counter: float
    worst_item: float
    beyond: float
    sent: int
    every_update: int
    state: int
    table: int

    def line(self) -> str:
        return (
            f"| {self.label} | {self.stated:.4f} | {self.worst_counter:.4f} | {self.worst_item:.4f} |"
            f" {self.beyond:.4f} | {self.sent / 1000:,.0f} | {self.sent / self.every_update:.3f} |"
            f" {self.state / 1000:,.0f} | {self.table / 1000:,.0f} |"
        )


class Run:
    """A point query under `merged` and `every-update`, side by side, with the judge."""

    def __init__(self, item: str, span: int, ticks: int, error: float, **options: Any) -> None:
        params = RecentCountsParams(error=error, queries=[{"name": "x", "point": item, "range": f"{span}s"}])
        common: dict[str, Any] = {
            "window": Window(-(-span // ticks)), "epoch": TICK * ticks, "tick": TICK, "span": span,
        }  # fmt: skip
        self.merged = Merged(Ask(params, Merged.Options(**options), **common))
        self.baseline = EveryUpdate(Ask(params, EveryUpdate.Options(), **common))
        self.replay = Replay(Clock(0, TICK * ticks), [self.merged, self.baseline])
        self.sent = {"merged": 0, "every-update": 0}

    def step(self, epoch: int, found: dict[str, TickCounts]) -> None:
        steps: Sequence[Step] = self.replay.step(epoch, dict.fromkeys(found, ()), {self.baseline.summary(): found})
        for step in steps:
            self.sent[step.method] += sum(message.bytes for message in step.settled.messages)
            assert not [verdict for verdict in step.verdicts if verdict.confidence == 1 and not verdict.kept]

    @property
    def root(self) -> Any:
        return self.replay._networks["merged"].inner.states[COORDINATOR]

    def flat(self) -> Any:
        """The coordinator's sketch of all sites."""
        return together(self.merged.design, COORDINATOR, self.root.children).flat

    def sizes(self) -> tuple[int, int]:
        """Bytes of the largest site's sketch and of its exact table."""
        states = self.replay._networks["merged"].sites.states
        tables = self.replay._networks["every-update"].inner.states[COORDINATOR].held
        state = max(len(encode(state.sketches)) for state in states.values())
        return state, max(len(encode(held)) for held in tables.values())


def run(trace: Trace, label: str, sites: int, error: float = 0.05, **options: Any) -> Result:
    running, dealt = Run(trace.names[0], SPAN, TICKS, error, **options), trace.dealt(sites)
    epochs = dealt.by_epoch(TickCounts, TICKS)
    for epoch, found in enumerate(epochs):
        running.step(epoch, found)
    end = (running.merged.root.last_merge(running.root, len(epochs) - 1) + 1) * TICKS
    flat = running.flat()
    inside = trace.items[(trace.ticks >= end - SPAN) & (trace.ticks < end)]
    counts = np.bincount(inside, minlength=len(trace.names))
    ranged, keys = Ranged(flat, SPAN, end - 1), flat.rows.keys(trace.names)
    columns = [flat.rows.columns(row, keys) for row in range(flat.rows.depth)]
    cells = np.array([np.bincount(column, counts, flat.rows.width) for column in columns])
    worst_counter = (np.abs(ranged.cells.estimate - cells) / np.maximum(cells, 1)).max()
    off = np.abs(ranged.estimates(trace.names) - counts) / len(inside)
    stated, both = float(flat.counters.worst_error), (running.sent["merged"], running.sent["every-update"])
    beyond = float((off > error).mean())
    return Result(label, stated, float(worst_counter), float(off.max()), beyond, *both, *running.sizes())


HEAD = (
    "| setting | error of a counter, stated | largest seen | largest of an item | items beyond 0.05 | kB sent |"
    " of every update | kB of a site's sketch | kB of its exact table |\n|---|---|---|---|---|---|---|---|---|"
)


def settings_table(trace: Trace, say: Callable[[str], None]) -> str:
    settings: list[tuple[str, int, dict[str, Any]]] = [
        *(("1 level" if levels == 1 else f"{levels} levels", 32, {"levels": levels}) for levels in (1, 2, 4, 8)),
        *((f"every {every} epochs", 32, {"every": every}) for every in (2, 4)),
        ("deterministic waves", 32, {"counter": "dw"}),
    ]
    lines = [HEAD]
    for label, sites, more in settings:
        lines.append(run(trace, label, sites, **more).line())
        say(lines[-1])
    return "\n".join(lines)


MILLION_HEAD = (
    "| counter | events | epochs | items judged | above `high` | below `low` | off by over 0.05 N | largest error |"
    " kB of a site's sketch | kB of its exact table |\n|---|---|---|---|---|---|---|---|---|---|"
)


def million_table(trace: Trace, say: Callable[[str], None]) -> str:
    """The estimates of all items of the window, at every epoch's end."""
    lines, span = [MILLION_HEAD], MILLION_SPAN
    for counter in ("eh", "dw"):
        running = Run(trace.names[0], span, MILLION_TICKS, 0.05, counter=counter)
        epochs = trace.dealt(8).by_epoch(TickCounts, MILLION_TICKS)
        judged = above = below = beyond = 0
        largest, sizes = 0.0, (0, 0)
        for epoch, found in enumerate(epochs):
            running.step(epoch, found)
            end = (epoch + 1) * MILLION_TICKS
            inside = trace.items[(trace.ticks >= end - span) & (trace.ticks < end)]
            places, counts = np.unique(inside, return_counts=True)
            names = [trace.names[place] for place in places]
            ranged = Ranged(running.flat(), span, end - 1)
            off = np.abs(ranged.estimates(names) - counts) / len(inside)
            above, below = (
                above + int((counts > ranged.highs(names)).sum()),
                below + int((counts < ranged.lows(names)).sum()),
            )
            judged, beyond = judged + len(names), beyond + int((off > 0.05).sum())
            largest, sizes = max(largest, float(off.max())), max(sizes, running.sizes())
        lines.append(
            f"| {counter} | {len(trace.ticks):,} | {len(epochs)} | {judged:,} | {above} | {below} | {beyond} |"
            f" {largest:.4f} | {sizes[0] / 1000:,.0f} | {sizes[1] / 1000:,.0f} |"
        )
        say(lines[-1])
    return "\n".join(lines)


def plot(trace: Trace, path: Path) -> None:
    """Error against memory for the three counters, and error after merging against the number of sites."""
    figure, (memory, sites) = panels_of(2, same_height=False)
    errors = {"eh": (0.05, 0.1, 0.2, 0.4), "dw": (0.05, 0.1, 0.2, 0.4), "rw": (0.3, 0.4)}
    for counter, tried in errors.items():
        found = [run(trace, counter, 4, error, counter=counter) for error in tried]
        memory.plot([each.state / 1000 for each in found], [each.worst_item for each in found], "o-", label=counter)
    memory.set(xlabel="kB of a site's sketch", ylabel="largest error of an item", xscale="log", yscale="log")
    numbers = (2, 4, 8, 16, 32)
    for counter in ("eh", "dw"):
        found = [run(trace, counter, number, counter=counter) for number in numbers]
        sites.plot(numbers, [each.worst_item for each in found], "o-", label=counter)
    sites.axhline(0.05, color="grey", linestyle="--", label="promised for each item")
    sites.set(xlabel="sites", xscale="log", ylim=(0, 0.08))
    for panel in (memory, sites):
        panel.grid(alpha=0.3)
        panel.legend()
    saved(figure, path)
