"""The plot of docs/top-k-everywhere.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks._plotting import panels_of, saved


def plot(curves: Mapping[str, Mapping[str, Sequence[int]]], path: Path) -> None:
    """A panel for each trace: the entries of each epoch, a line for each variant."""
    figure, panels = panels_of(len(curves))
    for panel, (title, variants) in zip(panels, curves.items(), strict=True):
        for name, entries in variants.items():
            panel.plot(range(1, len(entries) + 1), entries, label=name)
        panel.set(title=title, xlabel="epoch", yscale="log")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("entries an epoch")
    panels[-1].legend(loc="upper right", fontsize=7)
    saved(figure, path)
