"""How every plot of the docs is begun and saved: the same look, and the same bytes for the same figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def panels_of(count: int, width: float = 4.2, height: float = 3, same_height: bool = True) -> tuple[Any, list[Any]]:
    """A figure and its panels, side by side."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "farwatch", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, count, figsize=(width * count, height), sharey=same_height, squeeze=False)
    return figure, list(panels[0])


def saved(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
