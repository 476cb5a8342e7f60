"""Kernels are compiled once a machine: a process after the first loads them from the cache beside the code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_SCRIPT = """
import json, sys
import numpy as np
from numba.core.registry import CPUDispatcher
from monitoring_lib.hashing import hash_items
from monitoring_lib.synopses.count_min import CountMin
from monitoring_lib.synopses.ecm import EcmSketch
from monitoring_lib.synopses.fm import FM

hash_items(["a", "b"])
CountMin.for_error(0.1, 0.9).update(np.arange(10))
FM.of_size(64).update(np.arange(10))
sketch = EcmSketch.for_error(0.1, 0.9, 100)
sketch.update(np.arange(10), ticks=np.arange(10))
sketch.estimates(np.arange(5))
EcmSketch.merge_all([sketch, sketch])
modules = [module for name, module in sys.modules.items() if name.startswith("monitoring_lib")]
kernels = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, CPUDispatcher)}
stats = [kernel.stats for kernel in kernels.values()]
print(json.dumps([sum(sum(s.cache_hits.values()) for s in stats), sum(sum(s.cache_misses.values()) for s in stats)]))
"""


def fresh_process() -> tuple[int, int]:
    """How many kernels a process loaded from the cache, and how many it compiled."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    hits, misses = json.loads(done.stdout)
    return hits, misses


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    fresh_process()
    hits, misses = fresh_process()
    assert hits > 3
    assert misses == 0
