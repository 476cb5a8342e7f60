"""What duplication, distinct heavy hitters and distinct quantiles send: `python -m benchmarks.duplication [--write]`.

Samples of 1000 with a lag of 0.1 over the paper's synthetic stream and three traces, all methods side by side, as parts
of what `exact` sends, whose counts are aggregated per epoch. An entry is 12 bytes there (an item of 8, a count of 4),
without headers, in both directions; bytes as encoded, with headers, stand beside it. At every epoch the sample is
held against the one that a single node would draw, and every count in it against the exact one. Then heavy hitters over
the pairs (item, src) of zeek, and quantiles over the lengths of its items. Ends with 1 where a promise is broken or a
target missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks._distinct_traces import PAIRS, STREAMS, Stream
from benchmarks._duplication_once import ERRORS, SEEDS, OnceShare
from benchmarks.kernels import written
from monitoring_lib.answers import Verdicts
from monitoring_lib.epochs import Clock, parse_duration
from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.distinct_pairs.heavy_question import HeavyHittersParams
from monitoring_lib.protocols.distinct_pairs.pairs import Pairs
from monitoring_lib.protocols.distinct_pairs.quantile_question import QuantilesParams
from monitoring_lib.protocols.duplication.question import Asked, DuplicationParams
from monitoring_lib.replay import Replay
from monitoring_lib.synopses.counts import Counts

PROJECT = Path(__file__).resolve().parents[1]
SAMPLE, LAG, SEED = 1000, Decimal("0.1"), 0
SAMPLED = ("local-counts", "global-counts", "lazy-counts")
MOST = {"synthetic": 0.026, "twitter": 0.028, "zeek": 0.5, "wiki": 0.12}
"""Entries of local-counts, as parts of exact's: at most so many."""
ENTRY = 12
ABOUT_ONCE = (
    f"The share of items seen once: the epochs at which it was beyond {ERRORS} standard errors in this run, their\n"
    f"mean over {SEEDS} seeds, and the number expected. Given its size the sample is drawn without replacement, so\n"
    "the number seen once in it is hypergeometric; its standard error has the factor for a finite population."
)


@dataclass
class Cost:
    """What a method sent, epoch by epoch, and what the judge found."""

    entries: list[int] = field(default_factory=list)
    bytes: int = 0
    verdicts: int = 0
    certain_broken: int = 0
    probable: int = 0
    probable_broken: int = 0
    once: OnceShare | None = None

    def add(self, messages: list[Any], verdicts: Verdicts) -> None:
        self.entries.append(sum(message.entries for message in messages))
        self.bytes += sum(message.bytes for message in messages)
        for verdict in verdicts:
            self.verdicts += 1
            if verdict.confidence == 1:
                self.certain_broken += not verdict.kept
            else:
                self.probable += 1
                self.probable_broken += not verdict.kept

    @property
    def kept(self) -> str:
        return f"{self.verdicts - self.certain_broken - self.probable_broken:,} of {self.verdicts:,}"


def replay_of(question: str, names: tuple[str, ...], params: Any, epoch: str, paired: bool) -> Replay:
    length = parse_duration(epoch)
    methods: list[Method] = []
    for name in names:
        kind = find_method(question, name)
        methods.append(kind(Ask(params, kind.Options(seed=SEED), epoch=length, tick=length, paired=paired)))
    return Replay(Clock(0, length), methods)


def step(replay: Replay, epoch: int, synopses: Mapping[str, Any], costs: dict[str, Cost]) -> None:
    for each in replay.step(epoch, dict.fromkeys(synopses, ()), {replay.summaries[0]: synopses}):
        costs.setdefault(each.method, Cost()).add(each.settled.messages, each.verdicts)


def run_samples(stream: Stream) -> tuple[dict[str, Cost], list[str]]:
    """The costs of all methods, and what was wrong with a sample or a count at any epoch."""
    asked = Asked(distinct=True, once=True, quantiles=(0.5, 0.9), shares={"short": "length(item) < 12"})
    params = DuplicationParams(sample=SAMPLE, lag=LAG, ask=asked)
    replay = replay_of("duplication", (*SAMPLED, "exact"), params, stream.epoch, paired=False)
    once, costs, wrong = OnceShare(SAMPLE), dict[str, Cost](), list[str]()
    central = once.samples[SEED]
    grown = 1 + Fraction(LAG)
    up, down = grown.numerator, grown.denominator
    for epoch, events in enumerate(stream.epochs()):
        synopses = {site: Counts.of(table["item"].combine_chunks()) for site, table in events.items()}
        step(replay, epoch, synopses, costs)
        counted: Any = next(iter(replay._landed.values())).truth
        merged = Counts.merge_all(list(synopses.values())) if synopses else None
        once.take(merged, len(counted.counts), counted.items_with[1])
        exact = dict(central)
        for name in SAMPLED:
            state: Any = replay._networks[name].inner.states[COORDINATOR]
            sample = dict(state.sample.items())
            if sample.keys() != exact.keys() or state.level != central.level:
                wrong.append(f"{stream.name}, {name}, epoch {epoch}: the sample is not the central one")
            late = [
                item
                for item, count in sample.items()
                if not down * exact.get(item, 0) <= up * count or count > exact[item]
            ]
            wrong += [f"{stream.name}, {name}, epoch {epoch}: the count of {item!r} is off" for item in late]
    if not once.is_kept():
        wrong.append(
            f"{stream.name}: the share of items seen once is beyond {ERRORS} standard errors at {sum(once.beyond())}"
            f" epochs of {SEEDS} runs, where {SEEDS * once.expected():.1f} are expected"
        )
    costs["local-counts"].once = once
    return costs, wrong


def run_pairs() -> dict[str, dict[str, Cost]]:
    heavy = HeavyHittersParams(share=Decimal("0.004"), error=Decimal("0.001"))
    numbers = QuantilesParams(bits=16, quantiles=(0.1, 0.5, 0.9), error=Decimal("0.05"))
    both = ("shared-bits", "exact")
    runs = {
        "distinct-heavy-hitters": replay_of("distinct-heavy-hitters", both, heavy, PAIRS.epoch, paired=True),
        "distinct-quantiles": replay_of("distinct-quantiles", both, numbers, PAIRS.epoch, paired=True),
    }
    costs: dict[str, dict[str, Cost]] = {name: {} for name in runs}
    for epoch, events in enumerate(PAIRS.epochs()):
        for name, replay in runs.items():
            synopses = {site: _pairs(table, name == "distinct-quantiles") for site, table in events.items()}
            step(replay, epoch, synopses, costs[name])
    return costs


def _pairs(table: pa.Table, lengths: bool) -> Pairs:
    items, partners = (table[name].combine_chunks().cast(pa.string()) for name in ("item", "partner"))
    if not lengths:
        return Pairs.of(items, partners)
    return Pairs.of(pa.compute.utf8_length(items).cast(pa.string()), items)


def sample_table(found: dict[str, dict[str, Cost]]) -> str:
    lines = [
        "| stream | epochs | exact: entries | MB | local-counts | in bytes | global-counts | in bytes"
        f" | lazy-counts | in bytes | once beyond {ERRORS} s.e. | in {SEEDS} runs, mean | expected | verdicts kept |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, costs in found.items():
        exact = costs["exact"]
        parts = [
            f"{sum(costs[m].entries) / sum(exact.entries):.3f} | {costs[m].bytes / exact.bytes:.3f}" for m in SAMPLED
        ]
        megabytes = sum(exact.entries) * ENTRY / 1e6
        lines.append(
            f"| {name} | {len(exact.entries):,} | {sum(exact.entries):,} | {megabytes:.2f} | {' | '.join(parts)}"
            f" | {_once(costs['local-counts'].once)} | {costs['local-counts'].kept} |"
        )
    return "\n".join(lines)


def _once(once: OnceShare | None) -> str:
    if once is None:
        return "- | - | -"
    beyond = once.beyond()
    return f"{beyond[SEED]} | {sum(beyond) / SEEDS:.1f} | {once.expected():.1f}"


def pair_table(found: dict[str, dict[str, Cost]]) -> str:
    lines = [
        "| question | exact: entries | kB | shared-bits | in bytes | verdicts kept |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for name, costs in found.items():
        exact, shared = costs["exact"], costs["shared-bits"]
        lines.append(
            f"| {name} | {sum(exact.entries):,} | {exact.bytes / 1e3:,.0f}"
            f" | {sum(shared.entries) / sum(exact.entries):.3f} | {shared.bytes / exact.bytes:.3f} | {shared.kept} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run the streams whose name contains this, and no pairs")
    parser.add_argument("--write", action="store_true", help="write the tables and plots into the pages in docs/")
    options = parser.parse_args()
    if options.write and options.only:
        raise SystemExit("--write: the pages take whole tables; leave --only out")
    samples, wrong = {}, []
    for stream in STREAMS:
        if options.only in stream.name:
            samples[stream.name], found = run_samples(stream)
            wrong += found
            part = sum(samples[stream.name]["local-counts"].entries) / sum(samples[stream.name]["exact"].entries)
            if part > MOST[stream.name]:
                wrong.append(
                    f"{stream.name}: local-counts sends {part:.3f} of exact, {MOST[stream.name]} is the target"
                )
            print(f"{stream.name}: local-counts {part:.4f} of exact, target {MOST[stream.name]}", flush=True)
    pairs = {} if options.only else run_pairs()
    print(sample_table(samples), pair_table(pairs), sep="\n\n")
    for name, costs in {**samples, **pairs}.items():
        wrong += [
            f"{name}, {m}: {c.certain_broken} certain verdicts broken" for m, c in costs.items() if c.certain_broken
        ]
    if options.write:
        write(samples, pairs)
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


def write(samples: dict[str, dict[str, Cost]], pairs: dict[str, dict[str, Cost]]) -> None:
    from benchmarks._topk_plot import plot

    docs = PROJECT / "docs"
    tables = {"duplication": f"{sample_table(samples)}\n\n{ABOUT_ONCE}"}
    tables |= {name: pair_table({name: costs}) for name, costs in pairs.items()}
    for name, table in tables.items():
        page = docs / f"{name}.md"
        page.write_text(written(page.read_text(encoding="utf-8"), "costs", table), encoding="utf-8")
    shown = {name: {method: cost.entries for method, cost in samples[name].items()} for name in ("twitter", "zeek")}
    plot(shown, docs / "duplication.svg")
    for name, costs in pairs.items():
        plot({f"zeek, {name}": {method: cost.entries for method, cost in costs.items()}}, docs / f"{name}.svg")


if __name__ == "__main__":
    main()
