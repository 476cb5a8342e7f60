"""The plot of docs/frequent-items.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks._plotting import panels_of, saved


def plot(loads: Mapping[str, Mapping[str, tuple[float, float]]], path: Path) -> None:
    """A panel for each trace: root load and heaviest link of each variant, in entries an epoch."""
    figure, panels = panels_of(len(loads), height=3.4)
    for panel, (title, variants) in zip(panels, loads.items(), strict=True):
        places = range(len(variants))
        for shift, which, label in ((-0.2, 0, "root load"), (0.2, 1, "heaviest link")):
            panel.bar([at + shift for at in places], [both[which] for both in variants.values()], 0.4, label=label)
        panel.set(title=title, yscale="log")
        panel.set_xticks(list(places), list(variants), rotation=35, ha="right")
        panel.grid(alpha=0.3, axis="y")
    panels[0].set_ylabel("entries an epoch")
    panels[-1].legend(loc="upper right", fontsize=7)
    saved(figure, path)
