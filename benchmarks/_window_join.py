"""Tables and plot of docs/self-join-size.md, and the table of docs/over-threshold.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._plotting import panels_of, saved
from benchmarks._window_traces import Trace
from monitoring_lib.codec import encode
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import Message
from monitoring_lib.protocols.geometric.over_threshold import LocalTests
from monitoring_lib.protocols.geometric.over_threshold.question import OverThresholdParams
from monitoring_lib.protocols.geometric.self_join import Convex, HalfSpace
from monitoring_lib.protocols.geometric.self_join.question import SelfJoinParams, sizes_of
from monitoring_lib.protocols.geometric.updates import Updates, each_event
from monitoring_lib.replay import Replay
from monitoring_lib.tick_counts import TickCounts, TickItemCounts

NUMBER, UPDATE = 8, 16
"""Bytes of the paper's units."""
MOST_AFTER = {"Twitter, 32": 0.004, "Twitter, 256": 0.06, "flights, 227": 0.01}
"""What convex may send of every update at a tolerance of 0.15 once the window has filled."""
MOST_FILLING = 0.5
"""What it may send while the window fills, of what it sends with whole arrays and no expectation of growth."""
WHOLE = "convex, whole arrays"


class Cost(NamedTuple):
    """What a method and every update sent while the window filled and after, in the paper's units and on the wire."""

    title: str
    tolerance: float
    method: str
    broken: int
    units: Counter[str]
    wire: Counter[str]
    updates: Counter[str]
    update_wire: Counter[str]
    whole_trace: int
    """Bytes of every update of the trace from its first event to its last, in units."""

    def share(self, part: str) -> float:
        return self.units[part] / max(1, self.updates[part])

    @property
    def filling_of_all(self) -> float:
        return self.units["filling"] / self.whole_trace

    def line(self) -> str:
        wire = sum(self.wire.values()) / sum(self.update_wire.values())
        return (
            f"| {self.title} | {self.tolerance} | {self.method} | {self.share('filling'):.3f} |"
            f" {self.filling_of_all:.4f} | {self.share('after'):.4f} | {wire:.4f} | {self.broken} |"
        )


HEAD = (
    "| trace and sites | tolerance | method | while it fills | that, of the whole trace | after | on the wire, all |"
    " broken |\n|---|---|---|---|---|---|---|---|"
)


def cost(
    title: str, trace: Trace, upto: int, span: int, tolerance: float, kind: type[Method], whole: bool = False,
    **options: Any,
) -> Cost:  # fmt: skip
    """One method over the epochs before `upto`, one tick each, judged at every one of them.

    With `whole` every array is counted with all its cells, as the paper sends it.
    """
    params = SelfJoinParams(tolerance=tolerance, error=0.167)
    method = kind(Ask(params, kind.Options(**options), Window(span), epoch=1, tick=1, span=span))
    replay, broken = Replay(Clock(0, 1), [method]), 0
    tables: list[Counter[str]] = [Counter() for _ in range(4)]
    units, wire, updates, update_wire = tables
    for epoch, found in enumerate(trace.until(upto).by_epoch(TickCounts)):
        part = "filling" if epoch < span else "after"
        updates[part] += UPDATE * sum(int(counts.counts.sum()) for counts in found.values())
        update_wire[part] += sum(len(encode(Updates(*each_event(counts)))) for counts in found.values())
        [step] = replay.step(epoch, dict.fromkeys(found, ()), {TickItemCounts(): found})
        for message in step.settled.messages:
            units[part] += NUMBER * (message.entries + (_left_out(method, message) if whole else 0))
            wire[part] += message.bytes
        broken += sum(not verdict.kept and verdict.confidence == 1 for verdict in step.verdicts)
    return Cost(title, tolerance, WHOLE if whole else method.name, broken, *tables, UPDATE * len(trace.ticks))


def _left_out(method: Any, message: Message) -> int:
    """Numbers that a message saves by naming the cells above 0 alone."""
    letter: Any = message.delivery(method.letters).letter
    rows = sizes_of(method.ask).rows
    reference = getattr(letter, "reference", letter)
    array = letter if message.kind == "array" else getattr(reference, "array", None)
    return 0 if array is None or rows is None else (rows.cells - array.entries) * message.links


def costs(twitter: Trace, flights: Trace, sites: Sequence[int], say: Callable[[str], None]) -> list[Cost]:
    found: list[Cost] = []

    def add(*given: Any, **more: Any) -> None:
        found.append(cost(*given, **more))
        say(found[-1].line())

    traces = [(f"Twitter, {number}", twitter.dealt(number), 120, 60) for number in sites]
    for title, trace, upto, span in [*traces, ("flights, 227", flights, 240, 168)]:
        for kind in (Convex, HalfSpace):
            for tolerance in (0.05, 0.15, 0.3) if kind is Convex else (0.15,):
                add(title, trace, upto, span, tolerance, kind)
        add(title, trace, span, span, 0.15, Convex, whole=True, growth="none")
    return found


def missed(found: Sequence[Cost]) -> list[str]:
    """Targets of the table that were not reached."""
    faults = [f"{each.title}, {each.method}: {each.broken} broken" for each in found if each.broken]
    at = {(each.title, each.method): each for each in found if each.tolerance == 0.15}
    for title, most in MOST_AFTER.items():
        convex, whole = at.get((title, "convex")), at.get((title, WHOLE))
        if convex is not None and convex.share("after") > most:
            faults.append(f"{title}: {convex.share('after'):.4f} after the filling, at most {most} was asked")
        if convex is not None and whole is not None:
            part = convex.units["filling"] / whole.units["filling"]
            if part > MOST_FILLING:
                faults.append(f"{title}: the filling takes {part:.2f} of that with whole arrays")
    return faults


def plot(found: Sequence[Cost], path: Path) -> None:
    """Shares of every update against the number of sites, by tolerance, while the window fills and after."""
    figure, panels = panels_of(2)
    for panel, part in zip(panels, ("filling", "after"), strict=True):
        for tolerance, method in sorted({(each.tolerance, each.method) for each in found}):
            chosen = [each for each in found if (each.tolerance, each.method) == (tolerance, method)]
            chosen = [each for each in chosen if each.title.startswith("Twitter") and each.updates[part]]
            numbers = [int(each.title.split(", ")[1]) for each in chosen]
            shares = [max(each.share(part), 1e-5) for each in chosen]
            if numbers:
                panel.plot(numbers, shares, "o-" if method == "convex" else "s--", label=f"{method}, {tolerance}")
        panel.set(xlabel="sites", title=f"Twitter, {part}", xscale="log", yscale="log")
        panel.axhline(1, color="grey", linestyle=":")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("bytes, of every update")
    panels[-1].legend(fontsize=7)
    saved(figure, path)


THRESHOLD_HEAD = (
    "| counters | sites | items listed, in the mean | kB sent | of every update | broken |\n|---|---|---|---|---|---|"
)


def threshold_table(twitter: Trace, say: Callable[[str], None]) -> str:
    lines, span, upto = [THRESHOLD_HEAD], 15, 40
    for error in (0.0, 0.002):
        for sites in (8, 32):
            params = OverThresholdParams(threshold=100, slack=0.1, error=error)
            ask = Ask(params, LocalTests.Options(), Window(span), epoch=1, tick=1, span=span)
            replay, sent, updates, listed, broken = Replay(Clock(0, 1), [LocalTests(ask)]), 0, 0, 0, 0
            for epoch, found in enumerate(twitter.dealt(sites).until(upto).by_epoch(TickCounts)):
                [step] = replay.step(epoch, dict.fromkeys(found, ()), {TickItemCounts(): found})
                sent += sum(message.bytes for message in step.settled.messages)
                updates += sum(len(encode(Updates(*each_event(counts)))) for counts in found.values())
                listed += len(step.settled.answers)
                broken += sum(not verdict.kept and verdict.confidence == 1 for verdict in step.verdicts)
            counters = "exact" if not error else f"sketch of error {error:g}"
            lines.append(
                f"| {counters} | {sites} | {listed / upto:.1f} | {sent / 1000:,.0f} | {sent / updates:.4f} | {broken} |"
            )
            say(lines[-1])
    return "\n".join(lines)
