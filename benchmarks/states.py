"""What it costs to keep a site's state: restore it, take in an epoch's counts, store what changed.

    python -m benchmarks.states [--names 100000] [--rounds 5]

The peer is what one would write by hand: a dict, read from and written to msgpack by msgspec. Both run in this
process in turn; times are processor time. For states that hold a sketch, the bytes that an epoch stores are set
against those of the whole image.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from msgspec.msgpack import Decoder, encode
from numpy.typing import NDArray

from benchmarks._measure import Case, Measured, Peer, Run, Workload, measure
from monitoring_lib import codec
from monitoring_lib.codec import Image
from monitoring_lib.names import Names
from monitoring_lib.states import Kept, keep, mark, restore
from monitoring_lib.synopses.count_min import CountMin
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.synopses.ecm import EcmSketch
from monitoring_lib.synopses.fm import FM
from monitoring_lib.tally import Tally

MOST_MILLISECONDS = 60.0
"""A site of 100,000 names."""
LEAST_TIMES_DICT = 2.0
MOST_OF_WHOLE = 0.25
"""What an epoch of 200 events may store, against the whole image of a sketch that has seen 200,000."""

Update = Callable[[NDArray[np.int64], int], None]
"""Takes in items at a tick."""
_PAIRS = Decoder(tuple[list[str], list[int]])


@dataclass(slots=True)
class Site(Image, tag=1):
    node: str = "site"
    sums: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class Sketching(Image, tag=2):
    counts: CountMin | None = None
    distinct: FM | None = None
    window: EcmSketch | None = None


def epochs(names: int) -> tuple[Counts, Counts]:
    """What a site knows, and what arrives: as many names, one in ten of them new."""
    rng = np.random.default_rng(7)
    known, arriving = (
        Names(f"item-{number:07}" for number in range(start, start + names)) for start in (0, names // 10)
    )
    return Counts(known, rng.integers(1, 10_000, names)), Counts(arriving, rng.integers(1, 100, names))


def prepare_ours(workload: Workload) -> Run:
    known, arriving = epochs(workload.different)
    state = Site()
    state.sums.add_all(known.names, known.sums)
    base, image = Kept("base", codec.encode(state)), codec.encode(arriving)

    def run() -> int:
        site = restore(Site, [base])
        stored = mark(site, [base])
        counts = codec.decode(image, Counts)
        site.sums.add_all(counts.names, counts.sums)
        kept = keep(site, stored)
        assert kept is not None
        return 1

    return run


def prepare_dict(workload: Workload) -> Run:
    known, arriving = (encode((list(part.names), part.sums.tolist())) for part in epochs(workload.different))

    def run() -> int:
        site = dict(zip(*_PAIRS.decode(known), strict=True))
        names, numbers = _PAIRS.decode(arriving)
        for name, number in zip(names, numbers, strict=True):
            site[name] = site.get(name, 0) + number
        changed = sorted(names)
        encode((changed, [site[name] for name in changed]))
        return 1

    return run


def share_stored(state: Sketching, update: Update, epochs_kept: int = 20) -> tuple[int, float]:
    """The whole image's bytes, and the share of them that an epoch stores, folds included."""
    rng = np.random.default_rng(3)
    update(rng.integers(0, 1 << 40, 200_000), 0)
    first = keep(state, None)
    assert first is not None
    stored, written = mark(state, [first]), 0
    for epoch in range(1, epochs_kept + 1):
        update(rng.integers(0, 1 << 40, 200), epoch)
        row = keep(state, stored)
        if row is not None:
            written += len(row.payload)
            stored = mark(state, [row], stored)
    return len(first.payload), written / epochs_kept / len(first.payload)


def sketches() -> dict[str, tuple[Sketching, Update]]:
    counts, distinct = CountMin.for_error(0.0005, 0.99), FM.of_size(1024)
    window = EcmSketch.for_error(0.05, 0.9, window=1000)
    return {
        "Count-Min": (Sketching(counts=counts), lambda items, _: counts.update(items)),
        "FM": (Sketching(distinct=distinct), lambda items, _: distinct.update(items)),
        "ECM": (Sketching(window=window), lambda items, tick: window.update(items, ticks=tick)),
    }


def show(measured: Measured, names: int) -> bool:
    ours, dict_ = measured.nanoseconds / 1e6, measured.of_peers["dict"] / 1e6
    ratio = measured.ratios["dict"]
    most = MOST_MILLISECONDS * names / 100_000
    print(f"{names:,} names: restore, take in as many, store: {ours:.1f} ms (at most {most:.0f})")
    print(f"  a dict through msgspec: {dict_:.1f} ms, {ratio:.1f} times ours (at least {LEAST_TIMES_DICT:g})")
    return ours <= most and ratio >= LEAST_TIMES_DICT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    case = Case("columns", prepare_ours, (Peer("dict", prepare_dict),), floor=LEAST_TIMES_DICT, unit="site")
    good = show(measure(case, Workload(0, given.names), given.rounds), given.names)
    for name, (state, update) in sketches().items():
        whole, share = share_stored(state, update)
        print(f"state with {name}: image {whole:,} bytes, an epoch stores {share:.3f} of it (at most {MOST_OF_WHOLE})")
        good &= share <= MOST_OF_WHOLE
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
