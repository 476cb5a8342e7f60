"""What a fresh process pays before its first answer, once the kernels have been compiled on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

_SCRIPT = """
import json, time
begin = time.process_time()
import numba, numpy, pyarrow
imported = time.process_time()
from monitoring_lib.hashing import hash_integers
from monitoring_lib.synopses.ecm import EcmSketch
loaded = time.process_time()
hash_integers(numpy.arange(5))
first = time.process_time()
sketch = EcmSketch.for_error(0.1, 0.9, 1000)
sketch.update(numpy.arange(1000), ticks=numpy.arange(1000))
sketch.estimates(numpy.arange(5))
EcmSketch.merge_all([sketch, sketch])
done = time.process_time()
print(json.dumps([imported - begin, loaded - imported, first - loaded, done - first]))
"""

STEPS = ("import numba, numpy, pyarrow", "import the synopses", "first kernel (Numba starts)", "update, ask and merge")


def startup_seconds(times: int = 3) -> dict[str, float]:
    """Processor seconds of each step, medians over fresh processes; a first one makes sure that all is compiled."""
    runs = []
    for number in range(times + 1):
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            cwd=Path(__file__).resolve().parents[1],
            capture_output=True,
            check=True,
            text=True,
        )
        if number:
            runs.append(json.loads(done.stdout))
    return {step: median(run[at] for run in runs) for at, step in enumerate(STEPS)}
