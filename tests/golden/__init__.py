"""Frozen images: one a synopsis, as this release writes it.

A stored image outlives the release that wrote it, so a change of a class's bytes must be a decision: raise
the version of the class, then write the images anew with::

    python -m tests.golden

The command prints what it wrote and what stayed as it was. A law (tests/laws/test_synopsis_laws.py) holds
every class to its image.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monitoring_lib.synopses.base import Synopsis
from tests.laws.examples import examples, kind_of

_FOLDER = Path(__file__).parent


def golden_file(kind: type[Synopsis]) -> Path:
    return _FOLDER / f"{kind.__name__}.bin"


def golden_synopsis(kind: type[Synopsis]) -> Synopsis:
    """The class's first example by name, fed with two batches."""
    example = next(example for example in examples() if kind_of(example) is kind)
    synopsis: Synopsis = example.empty()
    for seed in (101, 102):
        example.feed(synopsis, np.random.default_rng(seed))
    return synopsis
