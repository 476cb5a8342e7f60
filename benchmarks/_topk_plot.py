"""The plot of docs/topk.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from benchmarks._plotting import panels_of, saved


def plot(curves: Mapping[str, Mapping[str, Sequence[int]]], path: Path) -> None:
    """A panel for each title: the entries sent so far, by epoch, a line for each method."""
    figure, panels = panels_of(len(curves))
    for panel, (title, methods) in zip(panels, curves.items(), strict=True):
        for name, entries in methods.items():
            panel.plot(range(1, len(entries) + 1), list(accumulate(entries)), label=name)
        panel.set(title=title, xlabel="epoch", yscale="log")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("entries sent so far")
    panels[-1].legend(loc="lower right")
    saved(figure, path)
