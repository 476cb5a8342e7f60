"""The plot of docs/aggregates.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

MOST_TICKS = 480


def plot(rows: Sequence[tuple[Any, Any]], path: Path) -> None:
    """The band of the first query over the first ticks, with the exact line inside it."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "farwatch", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    lows = [row.low for answers, _ in rows for row in answers][:MOST_TICKS]
    highs = [row.high for answers, _ in rows for row in answers][:MOST_TICKS]
    judged = (v for _, verdicts in rows for v in verdicts if v.promise == "exact value within bounds")
    exact = [verdict.exact for verdict in judged][:MOST_TICKS]
    figure, panel = pyplot.subplots(figsize=(7, 3))
    ticks = range(1, len(exact) + 1)
    panel.fill_between(ticks, lows, highs, alpha=0.3, step="mid", linewidth=0, label="low..high")
    panel.plot(ticks, exact, linewidth=0.9, color="black", label="exact mean")
    panel.set(xlabel="tick of 30 s", ylabel="temperature")
    panel.grid(alpha=0.3)
    panel.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
