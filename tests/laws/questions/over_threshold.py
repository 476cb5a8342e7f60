"""Random monitors and streams for over-threshold: items that rise over it, fall below it, and stay near it."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.geometric.over_threshold.question import OverThresholdParams
from tests.laws.questions import EPOCH, Maker
from tests.laws.questions.self_join_size import TICK, events


def ask(rng: Random, kind: type[Method]) -> Ask:
    chosen = {}
    if "seed" in kind.Options.model_fields:
        chosen = {"seed": rng.randrange(1000), "shares": rng.choice(["even", "count", "root"])}
    span = rng.choice([1, 4, 6, 9, 18, 42])
    params = OverThresholdParams(
        threshold=max(1, round(span * rng.choice([0.3, 1, 3]))),
        slack=rng.choice([0.05, 0.1, 0.5]),
        error=rng.choice([0.0, 0.0, 0.05, 0.3]),
    )
    window = Window(length=-(-span * TICK // EPOCH))
    return Ask(params, kind.Options(**chosen), window, epoch=EPOCH, tick=TICK, span=span)


MAKER = Maker("over-threshold", ask, events, restless=True)
