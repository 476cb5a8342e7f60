"""Makes methods findable as those of an installed package are: through the entry points of `farwatch.methods`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from monitoring_lib.methods import Method
from monitoring_lib.protocols import ENTRY_POINTS


def offer(folder: Path, package: str, offered: Iterable[str]) -> None:
    """Writes what an installer leaves in a folder of the path for a package with these ``module:Class`` methods."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    name = package.replace("_", "-")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    points = [f"{value.rpartition(':')[2].lower()} = {value}" for value in offered]
    (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *points, ""]), "utf-8")


def offer_classes(folder: Path, package: str, kinds: Iterable[type[Method]]) -> None:
    offer(folder, package, [f"{kind.__module__}:{kind.__qualname__}" for kind in kinds])
