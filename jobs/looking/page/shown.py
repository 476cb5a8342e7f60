"""What the parts of a monitor's page share: its chain, the epochs that charts show, and the seals of the newest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.epoch.context import Context
from jobs.lake.seals import Seal
from jobs.looking.page.thinning import NEWEST, shown_epochs
from jobs.looking.sealed_chain import SealedChain
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time
from monitoring_lib.network import is_site, site_of_node


@dataclass(frozen=True)
class Shown:
    """A monitor with sealed epochs; `most` is how many of them its charts may show."""

    context: Context
    source: Source
    monitor: Monitor
    chain: SealedChain
    most: int

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The epochs that charts show."""
        return shown_epochs(self.chain.starts, self.most)

    @cached_property
    def place(self) -> dict[int, int]:
        """Of each shown epoch, by its start, the number under which the page knows it."""
        return {start: place for place, start in enumerate(self.starts.tolist())}

    @property
    def epochs(self) -> list[str]:
        return [format_time(start) for start in self.starts.tolist()]

    @cached_property
    def newest(self) -> list[Seal]:
        """The seals of the newest epochs, which are all shown: what grows with every message is told of these alone."""
        first = int(self.starts[max(0, len(self.starts) - NEWEST)])
        return self.context.lake.ledger.seals(self.source.name, self.monitor.name, first)

    def current(self, rows: pa.Table) -> pa.Table:
        """Rows with `epoch_start` and `revision`: those of shown epochs, as they are sealed now."""
        starts = rows["epoch_start"].cast(pa.int64())
        at = pc.index_in(starts, value_set=pa.array(self.chain.starts, pa.int64()))
        revision = pa.array(self.chain.column("revision"), pa.int64()).take(at.combine_chunks())
        here = pc.is_in(starts, value_set=pa.array(self.starts, pa.int64()))
        return rows.filter(pc.and_(here, pc.fill_null(pc.equal(rows["revision"], revision), False)))


def node_in_words(node: str) -> str:
    """A site by its name; the coordinator and the inner nodes of a tree are said to be such."""
    return site_of_node(node) if is_site(node) else node.removeprefix("@").replace("/", " ", 1)
