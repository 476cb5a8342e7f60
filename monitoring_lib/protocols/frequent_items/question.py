"""The question: which items exceed a share of all that is counted, where what is old counts less?"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np
from pydantic import Field

from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.errors import DataError
from monitoring_lib.item_counts import ItemCounts, only_sums
from monitoring_lib.methods import Ask, Keys, Question, Truth
from monitoring_lib.protocols.frequent_items.trees import TreeParams, tree_faults
from monitoring_lib.protocols.frequent_items.truth import FrequentTruth
from monitoring_lib.synopses.counts import Counts


class FrequentItemsParams(Keys):
    """What a monitor of this question may say."""

    support: Decimal = Field(gt=0, le=1, description="the share of the total above which an item is frequent")
    error: Decimal = Field(ge=0, le=1, description="the share of the total by which a published count may be off")
    decay: Decimal = Field(
        default=Decimal(1), ge=0, le=1, description="the factor by which an epoch makes all counts smaller; 1: none"
    )
    tree: TreeParams = Field(default_factory=TreeParams, description="which node is below which")


class FrequentItems(Question):
    """At the end of every epoch, always, with c the decayed count of an item and n the decayed total:

    every item with ``c > support * n`` is listed, none with ``c < (support - error) * n``, and of each listed one
    ``low <= c <= high`` and ``high - low <= error * n``. In every epoch, also in an empty one, a count becomes
    ``decay * count`` plus what the epoch counted; the total alike.

    While a site is missing, and once its events were set aside, answers are partial: they speak of what the sites
    took in.
    """

    name = "frequent-items"
    asks = "Which items have more than a share of the decayed total?"
    Params = FrequentItemsParams
    default_method = "bounds"
    baseline = "gradient"
    shape = "ranking"
    precision = "error"
    windows = frozenset(("growing", "reset"))

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return FrequentTruth(ask)

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        params: FrequentItemsParams = ask.params
        if params.error > params.support:
            yield KeyFault(
                ("error",), f"is {params.error}, more than the support of {params.support}",
                "give an error of at most the support; a tenth of it is usual",
            )  # fmt: skip
        yield from only_sums(ask.measure)
        yield from tree_faults(params.tree)

    def promise(self, ask: Ask) -> str:
        return f"all items above {_percent(ask.params.support)}, within {_percent(ask.params.error)} (always)"

    def meaning(self, ask: Ask) -> str:
        support, error = ask.params.support, ask.params.error
        old = "" if ask.params.decay == 1 else f"; each epoch, earlier counts are multiplied by {ask.params.decay}"
        return (
            f"every item above {_percent(support)} of the total is listed, none below {_percent(support - error)}, and"
            f" counts are known within {_percent(error)} of the total{old}"
        )


def refuse_negative(ask: Ask, node: str, counts: Counts) -> None:
    """Nodes leave small counts out because no other site can have less than 0 of an item."""
    if len(counts) and int(counts.sums.min()) < 0:
        at = int(np.argmin(counts.sums))
        raise DataError(
            f"site {node!r}: item {counts.names[at][:80]!r} sums up to {counts.sums[at] / ask.scale:g} in this epoch;"
            ' frequent-items needs sums of at least 0: drop negative values with `where: "value > 0"`, or use a'
            " value column that has none"
        )


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f} %"
