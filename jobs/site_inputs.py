"""What arrives at each site in an epoch, and what leaves its window: synopses of this run and sealed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from jobs.chain import Chain
from jobs.lake import Lake, column_list
from jobs.lake.seals import Seal
from jobs.lake.store import Condition
from jobs.summaries import Wanted
from monitoring_lib.codec import decode
from monitoring_lib.epochs import Window
from monitoring_lib.network import node_of_site
from monitoring_lib.tables import SYNOPSES


@dataclass
class SiteInputs:
    """The synopses that a chain's epochs from `first` to `last` take in.

    Epochs from `first` on come from `write`, those before from the chain's own writes. `absent` says which
    sites took no part in which epoch: what such a site counted then never arrived, so it never leaves either.
    Everything is fetched when asked for: the coordinator's steps ask for nothing, and where Spark runs the
    sites the images stay where they are.
    """

    lake: Lake
    chain: Chain
    wish: Wanted
    write: str
    first: int
    last: int
    absent: dict[int, set[str]]
    window: Window = field(init=False)
    earlier_seals: list[Seal] = field(init=False)

    def __post_init__(self) -> None:
        chain = self.chain
        self.window = chain.monitor.ask(chain.source.epoch, chain.source.scale).window
        for seal in chain.seals:
            self.absent[chain.clock.epoch_of(seal.epoch_start)] = set(seal.missing_sites)
        needed = self._earlier(chain, self.first, self.last)
        self.earlier_seals = [seal for seal in chain.seals if chain.clock.epoch_of(seal.epoch_start) in needed]

    def sites(self) -> dict[int, set[str]]:
        """The sites that have events in each epoch of this run."""
        found: dict[int, set[str]] = {}
        rows = self._of_this_run(["epoch_start", "site"])
        for epoch, site in zip(self._epochs(rows), rows["site"].to_pylist(), strict=True):
            found.setdefault(epoch, set()).add(site)
        return found

    @cached_property
    def images(self) -> dict[int, dict[str, bytes]]:
        """By epoch and site."""
        columns = ["epoch_start", "site", "payload"]
        sealed = self.lake.sealed(SYNOPSES, self.earlier_seals, ["synopses"], self.only, columns)
        images: dict[int, dict[str, bytes]] = {}
        for rows in (sealed, self._of_this_run(columns)):
            cells = zip(self._epochs(rows), rows["site"].to_pylist(), rows["payload"].to_pylist(), strict=True)
            for epoch, site, image in cells:
                images.setdefault(epoch, {})[site] = image
        return images

    @property
    def only(self) -> list[Condition]:
        return [("source", "=", self.chain.source.name), ("summary", "=", self.wish.name)]

    def _of_this_run(self, columns: list[str]) -> pa.Table:
        span: list[Condition] = [
            ("epoch_start", ">=", self.chain.clock.start_of(self.first)),
            ("epoch_start", "<=", self.chain.clock.start_of(self.last)),
        ]
        return self.lake.of_writes(SYNOPSES, [self.write], [*self.only, *span], columns)

    def _epochs(self, rows: pa.Table) -> list[int]:
        return [self.chain.clock.epoch_of(start) for start in column_list(rows, "epoch_start")]

    def _earlier(self, chain: Chain, first: int, last: int) -> set[int]:
        """The epochs before `first` that are needed: those that leave, and all that count if a method begins."""
        needed = set(self.window.members(first)) if chain.anew else set()
        for seen in set(chain.last_seen.values()):  # sites that were away have other epochs to let go
            needed |= set(self.window.leaving(seen, last))
        return {epoch for epoch in needed if epoch < first}

    def arriving(self, epoch: int, anew: bool) -> dict[str, Any]:
        """By node; where a method begins anew, everything that counts arrives at once."""
        epochs = self.window.members(epoch) if anew else (epoch,)
        sites = {site for one in epochs for site in self.images.get(one, ())}
        return {node_of_site(site): self._merged(site, epochs) for site in sites}

    def expiring(self, epoch: int, last_seen: Mapping[str, int]) -> dict[str, Any]:
        """By node: what has left a site's window since it last observed."""
        if self.window.length is None:
            return {}
        leaving = {site: self.window.leaving(seen, epoch) for site, seen in last_seen.items()}
        return {node_of_site(site): self._merged(site, epochs) for site, epochs in leaving.items() if epochs}

    def _merged(self, site: str, epochs: Sequence[int]) -> Any:
        total = self.wish.summary.empty()
        for epoch in epochs:
            image = self.images.get(epoch, {}).get(site)
            if image is not None and site not in self.absent.get(epoch, ()):
                found = decode(image, self.wish.summary.synopsis)
                total = total.merge(found) if len(epochs) > 1 else found
        return total
