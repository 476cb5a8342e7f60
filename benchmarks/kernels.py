"""How fast the synopses take events in, and how small they are: `python -m benchmarks.kernels`.

Each kernel and its peers run in turn in this process; the table gives medians over the rounds. Peers that take one item
a call see the first 500,000 events only and are counted per event. With `--write` the tables go into
docs/synopses.md.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks._measure import Measured, Workload, measure
from benchmarks._memory import CONFIDENCE, ERRORS, WINDOW, footprint, read_twitter
from benchmarks._startup import startup_seconds
from benchmarks.kernel_cases import cases

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "synopses.md"
TRACES = PROJECT.parent / "shared" / "data"
_FACTORS = {"": 1, "k": 10**3, "M": 10**6}


def amount(text: str) -> int:
    """A number of events: 500000, 500k or 10M."""
    found = re.fullmatch(r"(\d+)([kM]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of events such as 500k or 10M")
    return int(found[1]) * _FACTORS[found[2]]


def kernel_table(results: Iterable[Measured]) -> str:
    lines = [
        "| kernel | ns | a | against | ratio | floor | aim | kept |",
        "|---|---:|---|---|---:|---:|---:|---|",
    ]
    for result in results:
        case = result.case
        kept = {None: "", True: "yes", False: "NO"}[result.above_floor]
        for number, peer in enumerate(case.peers):
            goal = (_plain(case.floor), _plain(case.aim), kept) if number == 0 else ("", "", "")
            head = (case.name, f"{result.nanoseconds:.1f}", case.unit) if number == 0 else ("", "", "")
            sense = "cost of" if case.lower_is_better else "speed of"
            against = f"{sense} {peer.name} ({result.of_peers[peer.name]:.1f} ns)"
            lines.append(_row(*head, against, f"{result.ratios[peer.name]:.2f}", *goal))
    return "\n".join(lines)


def memory_table(traces: Path) -> str:
    items, ticks = read_twitter(traces)
    lines = [
        f"| error ({CONFIDENCE} confidence) | sketch, kB | exact table, kB | times smaller | largest error seen "
        "| answers outside their bound |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for error in ERRORS:
        found = footprint(items, ticks, error)
        lines.append(
            _row(
                str(error),
                f"{found.sketch_bytes / 1000:,.0f}",
                f"{found.exact_bytes / 1000:,.0f}",
                f"{found.exact_bytes / found.sketch_bytes:.1f}",
                f"{found.largest_error:.4f}",
                f"{found.outside} of {found.asked:,}",
            )
        )
    lines.append(
        f"\nTwitter cache trace, {len(items):,} requests, a window of {WINDOW} s. The exact table holds the count of "
        "each (item, second) of the window, which is what any range needs; both are sizes of the stored image."
    )
    return "\n".join(lines)


def startup_table() -> str:
    lines = ["| step | seconds of processor |", "|---|---:|"]
    lines += [_row(step, f"{seconds:.2f}") for step, seconds in startup_seconds().items()]
    return "\n".join(lines)


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def _row(*columns: str) -> str:
    return f"| {' | '.join(columns)} |"


def written(page: str, name: str, table: str) -> str:
    """The page with a table between its markers replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in page or end not in page:
        raise SystemExit(f"{PAGE}: the markers {begin} and {end} are missing; put them where the table belongs")
    before, rest = page.split(begin, 1)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=amount, default=amount("10M"), help="events to take in (10M)")
    parser.add_argument("--only", default="", help="run the kernels whose name contains this")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (5)")
    parser.add_argument("--traces", type=Path, default=TRACES, help="folder of the real traces")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    options = parser.parse_args()
    chosen = [case for case in cases() if options.only.lower() in case.name.lower()]
    if not chosen:
        raise SystemExit(
            f"--only {options.only}: no kernel of that name; there are " + ", ".join(c.name for c in cases())
        )
    if options.write and options.only:
        raise SystemExit("--write: the page takes the whole table; leave --only out")
    workload, results = Workload(options.events), []
    for case in chosen:
        results.append(measure(case, workload, options.rounds))
        print(kernel_table(results[-1:]), flush=True)
    tables = {"kernels": kernel_table(results)}
    if not options.only:
        tables["startup"] = startup_table()
        print(tables["startup"], flush=True)
        if options.traces.is_dir():
            tables["memory"] = memory_table(options.traces)
            print(tables["memory"], flush=True)
        else:
            print(f"no table of sizes: the traces are not at {options.traces} (--traces FOLDER)")
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, table in tables.items():
            page = written(page, name, table)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
