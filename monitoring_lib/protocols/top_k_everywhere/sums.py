"""A site's own sums, and how an epoch changes them."""

from __future__ import annotations

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.top_k_everywhere.question import refuse_negative
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally


def absorb(ask: Ask, node: str, sums: Tally, arriving: Counts, expiring: Counts) -> list[str]:
    """Brings the sums to the end of the epoch; the items whose sum may have changed, each once."""
    sums.add_all(arriving.names, arriving.sums.tolist())
    touched = list(arriving.names)
    if len(expiring):
        sums.add_all(expiring.names, (-expiring.sums).tolist())
        touched = list(dict.fromkeys((*touched, *expiring.names)))
    values = sums.get_all(touched)
    for name, value in zip(touched, values, strict=True):
        refuse_negative(ask, node, name, value)
    sums.drop_all([name for name, value in zip(touched, values, strict=True) if value == 0])
    return touched
