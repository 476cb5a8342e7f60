"""The plot of docs/topk.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path


def plot(curves: Mapping[str, Mapping[str, Sequence[int]]], path: Path) -> None:
    """A panel for each title: the entries sent so far, by epoch, a line for each method."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "farwatch", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(curves), figsize=(4.2 * len(curves), 3), sharey=True, squeeze=False)
    for panel, (title, methods) in zip(panels[0], curves.items(), strict=True):
        for name, entries in methods.items():
            panel.plot(range(1, len(entries) + 1), list(accumulate(entries)), label=name)
        panel.set(title=title, xlabel="epoch", yscale="log")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("entries sent so far")
    panels[0][-1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
