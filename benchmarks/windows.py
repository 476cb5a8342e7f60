"""What the questions about recent windows cost and how far off they are: `python -m benchmarks.windows [--write]`.

It prints every table of docs/recent-counts.md, docs/self-join-size.md and docs/over-threshold.md; the settings stand
beside the tables there. With `--write` the tables go into these pages, with the plots beside them. `--only` runs
one page's part: `recent-counts`, `self-join-size` or `over-threshold`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import _window_counts, _window_join
from benchmarks._window_traces import flights, twitter
from benchmarks.kernels import written

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("recent-counts", "self-join-size", "over-threshold")
say = partial(print, flush=True)


def recent_counts(write: bool) -> None:
    trace = twitter()
    say(_window_counts.HEAD)
    settings = _window_counts.settings_table(trace.first(80_000), say)
    say(_window_counts.MILLION_HEAD)
    million = _window_counts.million_table(trace, say)
    if write:
        _put("recent-counts", {"figures": settings, "million": million})
        _window_counts.plot(trace.first(80_000), DOCS / "recent-counts.svg")


def self_join_size(write: bool) -> None:
    say(_window_join.HEAD)
    found = _window_join.costs(twitter(), flights(), (2, 32, 256), say)
    say("\n".join(_window_join.missed(found)) or "all targets met")
    if write:
        table = "\n".join([_window_join.HEAD, *(each.line() for each in found)])
        _put("self-join-size", {"figures": table})
        _window_join.plot(found, DOCS / "self-join-size.svg")


def over_threshold(write: bool) -> None:
    say(_window_join.THRESHOLD_HEAD)
    table = _window_join.threshold_table(twitter(), say)
    if write:
        _put("over-threshold", {"figures": table})


def _put(page: str, tables: dict[str, str]) -> None:
    path = DOCS / f"{page}.md"
    text = path.read_text(encoding="utf-8")
    for name, table in tables.items():
        text = written(text, name, table)
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PAGES, help="run the part of one page")
    parser.add_argument("--write", action="store_true", help="write tables and plots into the pages")
    options = parser.parse_args(arguments)
    for page, part in zip(PAGES, (recent_counts, self_join_size, over_threshold), strict=True):
        if options.only in (None, page):
            part(options.write)


if __name__ == "__main__":
    main()
