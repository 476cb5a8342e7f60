"""`simulate` with every method and verdicts, against what pandas takes to read the same file and count.

    python -m benchmarks.simulate [--trace FILE] [--sites 16] [--epoch 10s] [--k 20] [--tolerance 0]
                                  [--window 1m] [--methods all]

Both run in this process, pandas before and after (its mean counts), so that the ratio does not depend on the
machine. Each is measured after a warm-up on the first rows, so that neither pays for compilation. Peak memory
is that of a fresh process that only simulates.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from jobs.simulation import command as simulate
from jobs.simulation.simulate import Result
from monitoring_lib.epochs import parse_duration
from monitoring_lib.hashing import hash_integers

DEFAULT_TRACE = Path(__file__).resolve().parents[2] / "shared" / "data" / "twitter_cache_cluster52_1M.csv.xz"
MOST_TIMES_PANDAS = 20.0
MOST_GIGABYTES = 1.5
_SECOND = 1_000_000


def with_pandas(trace: Path, sites: int, epoch: int) -> int:
    """Reads the file and counts (site, item) by epoch; the number of counts."""
    rows = pd.read_csv(trace)
    rows["site"] = hash_integers(np.arange(len(rows))) % np.uint64(sites)
    rows["epoch"] = rows["time"] * _SECOND // epoch
    return len(rows.groupby(["epoch", "site", "item"], sort=False).size())


def timed_pandas(given: argparse.Namespace) -> tuple[float, int]:
    begun = time.perf_counter()
    counts = with_pandas(given.trace, given.sites, parse_duration(given.epoch))
    return time.perf_counter() - begun, counts


def monitor_file(folder: Path, given: argparse.Namespace) -> Path:
    window = "" if given.window == "growing" else f"window: {given.window}\n"
    path = folder / "benchmark.yml"
    path.write_text(f"question: top-k\nk: {given.k}\ntolerance: {given.tolerance}\nmethod: caching\n{window}")
    return path


def first_rows(trace: Path, folder: Path) -> Path:
    path = folder / "first.csv"
    pd.read_csv(trace, nrows=5_000).to_csv(path, index=False)
    return path


def measure(given: argparse.Namespace, folder: Path) -> tuple[Result, float]:
    begun = time.perf_counter()
    result = simulate.run(
        monitor_file(folder, given), trace=str(given.trace), split_sites=given.sites, epoch=given.epoch,
        methods=given.methods, out=folder / "out",
    )  # fmt: skip
    return result, time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--trace", type=Path, default=DEFAULT_TRACE)
    parser.add_argument("--sites", type=int, default=16)
    parser.add_argument("--epoch", default="10s")
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--tolerance", default="0")
    parser.add_argument("--window", default="growing")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.trace.exists():
        print(f"{given.trace} is not there; name a trace with --trace")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.peak:
            measure(given, folder)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000_000)
            return 0
        warm = argparse.Namespace(**vars(given) | {"trace": first_rows(given.trace, folder)})
        with_pandas(warm.trace, given.sites, parse_duration(given.epoch))
        measure(warm, folder)
        before, counts = timed_pandas(given)
        result, seconds = measure(given, folder)
        after, _ = timed_pandas(given)
        pandas_seconds = (before + after) / 2
    peak = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--peak"], capture_output=True, text=True, check=True
    )
    gigabytes, ratio = float(peak.stdout.split()[-1]), seconds / pandas_seconds
    print(f"{result.account.counted:,} events, {result.sites} sites, {result.epochs} epochs, {counts:,} counts")
    print(f"{'method':<14}{'entries':>12}{'of caching':>12}{'MB':>8}{'verdicts':>10}{'broken':>8}")
    base = result.baseline
    for outcome in result.outcomes:
        share = f"{outcome.cost.entries / base.cost.entries:.3f}" if base and base.cost.entries else "-"
        print(
            f"{outcome.method:<14}{outcome.cost.entries:>12,}{share:>12}{outcome.cost.bytes / 1e6:>8.1f}"
            f"{outcome.verdicts:>10,}{outcome.broken:>8,}"
        )
    print(f"pandas {pandas_seconds:.2f} s, simulate {seconds:.2f} s: {ratio:.1f} times (at most {MOST_TIMES_PANDAS:g})")
    print(f"peak memory {gigabytes:.2f} GB (at most {MOST_GIGABYTES:g})")
    return int(ratio > MOST_TIMES_PANDAS or gigabytes > MOST_GIGABYTES)


if __name__ == "__main__":
    sys.exit(main())
