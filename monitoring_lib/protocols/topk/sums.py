"""What the sites of every method share: their sums, and how an epoch changes them."""

from __future__ import annotations

from monitoring_lib.methods import Ask
from monitoring_lib.names import Names
from monitoring_lib.protocols.topk.question import refuse_negative, tolerance_of
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally


def keeps_zeros(ask: Ask) -> bool:
    """Whether an item counts once it was named, though its sum is 0: so it is for the smallest."""
    return bool(ask.params.order == "smallest")


def even_share(ask: Ask, sites: int) -> int:
    """How far each of so many sites' numbers may be off, so that totals stay within half the tolerance."""
    return tolerance_of(ask) // (2 * sites) if sites else 0


def absorb(ask: Ask, node: str, sums: Tally, arriving: Counts, expiring: Counts) -> Names:
    """Brings a site's sums to the end of the epoch; the items whose sums may have changed, each once."""
    sums.add_all(arriving.names, arriving.sums)
    touched = arriving.names
    if len(expiring):
        sums.add_all(expiring.names, -expiring.sums)
        touched = touched.union(expiring.names)
    if len(expiring) or (len(arriving) and int(arriving.sums.min()) < 0):
        _tidy(ask, node, sums, touched)
    return touched


def _tidy(ask: Ask, node: str, sums: Tally, touched: Names) -> None:
    values = sums.get_all(touched)
    if min(values) < 0:
        for name, value in zip(touched, values, strict=True):
            refuse_negative(ask, node, name, value)
    if not keeps_zeros(ask):
        sums.drop_all([name for name, value in zip(touched, values, strict=True) if value == 0])
