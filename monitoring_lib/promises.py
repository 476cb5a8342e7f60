"""How often a promise with a probability may be broken before something is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable

from monitoring_lib.answers import Verdicts

CHANCE = 1e-4
"""The chance with which a promise that is kept as often as it says is called broken."""


def broken_shares(runs: Iterable[Verdicts]) -> dict[float, list[float]]:
    """By confidence below 1, the share of broken verdicts in each run that has any of it.

    The epochs of one run are one draw of the hash: its verdicts are not independent, so a run counts by its share.
    """
    shares: dict[float, list[float]] = {}
    for verdicts in runs:
        kept: dict[float, list[bool]] = {}
        for confidence, good in zip(verdicts.column("confidence"), verdicts.column("kept"), strict=True):
            if confidence < 1:
                kept.setdefault(confidence, []).append(good)
        for confidence, found in kept.items():
            shares.setdefault(confidence, []).append(found.count(False) / len(found))
    return shares


def most_broken(runs: int, confidence: float) -> float:
    """The sum of the shares of `runs` runs above which a promise of this confidence is broken.

    A share lies between 0 and 1 and its mean is at most ``1 - confidence``, so that the sum is dominated by a
    binomial number of runs: one that exceeds this does so with a probability of at most `CHANCE`.
    """
    from scipy.stats import binom

    return float(binom.ppf(1 - CHANCE, runs, 1 - confidence))
