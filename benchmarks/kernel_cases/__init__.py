"""The kernels that are measured: one module a synopsis (or a family of them), each with a list CASES.

A module added to this folder is found by itself::

    CASES = [Case("count-min", prepare, (Peer("datasketches count_min", prepare_peer),), floor=10, aim=13)]
"""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks._measure import Case


def cases() -> list[Case]:
    """Every case of every module in this folder, module by module."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        found += importlib.import_module(f"{__name__}.{module.name}").CASES
    return found
