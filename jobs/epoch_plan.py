"""One monitor's part of a run: its chain, its methods, and for each epoch who takes part and what arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.chain import Chain, chain_before
from jobs.context import Context
from jobs.gate import missing_sites
from jobs.handover import Handover
from jobs.lake import column_list
from jobs.lake.seals import Seal
from jobs.restoring import moment_of
from jobs.site_inputs import SiteInputs
from jobs.summaries import wanted_by
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import to_datetime
from monitoring_lib.methods import Method, Moment
from monitoring_lib.tables import ROSTERS


@dataclass
class Plan:
    """The epochs that a monitor runs; `advance` goes on to the next one."""

    source: Source
    monitor: Monitor
    chain: Chain
    methods: Sequence[Method]
    inputs: SiteInputs
    epochs: range
    missing: dict[int, set[str]]
    joined: dict[int, list[str]]
    """The sites that are seen for the first time, by epoch."""
    epoch: int
    anew: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.anew = self.chain.anew

    @property
    def epoch_start(self) -> int:
        return self.chain.clock.start_of(self.epoch)

    def join(self) -> list[str]:
        """The sites that are seen for the first time in this epoch."""
        return self.joined.get(self.epoch, [])

    def absent(self) -> list[str]:
        """The sites of this epoch that were set aside."""
        roster = self.chain.roster | set(self.join())
        return sorted(roster & self.missing.get(self.epoch_start, set()))

    def moment(self, method: Method) -> Moment:
        return moment_of(self.chain, method, self.epoch, sorted(self.chain.roster | set(self.join())), self.absent())

    def advance(self) -> None:
        """The epoch is settled; the next one begins."""
        self.chain.extend(self.epoch_start, self.join(), self.absent())
        self.epoch += 1
        self.chain.anew = frozenset()

    def rewind(self) -> None:
        """Back to the first epoch, for the next method."""
        self.epoch = self.epochs.start
        self.chain = Chain(self.source, self.monitor, self.chain.seals, self.anew)

    def roster_rows(self, write: str) -> list[dict[str, Any]]:
        """Who joins in each epoch, as rows for the coordinator."""
        return [
            {
                "monitor": self.monitor.name, "epoch_start": to_datetime(self.chain.clock.start_of(epoch)),
                "site": site, "write": write,
            }
            for epoch, sites in self.joined.items()
            for site in sites
        ]  # fmt: skip

    def unsealed(self, writes: dict[str, str]) -> Seal:
        """The epoch as its seal will name it, to read what a step before has written."""
        return Seal(
            self.source.name, self.monitor.name, self.epoch_start, 0, "", writes,
            missing_sites=self.absent(), joined_sites=self.join(),
        )  # fmt: skip


def plan(context: Context, handover: Handover, name: str) -> Plan:
    """Reads what a monitor needs to run from where the gate lets it begin to the end of the interval."""
    source, monitor = context.config.source(handover.source), context.config.monitor(name)
    start, clock = handover.monitors[name], source.clock
    chain = chain_before(context, source, monitor, start)
    epochs = range(clock.epoch_of(start), clock.epoch_of(handover.end))
    missing = missing_sites(context, handover)
    absent = {clock.epoch_of(at): sites for at, sites in missing.items()}
    wish, write = wanted_by(monitor, source), handover.write_of("synopses")
    inputs = SiteInputs(context.lake, chain, wish, write, epochs.start, epochs.stop - 1, absent)
    chosen, shadows = monitor.method_objects(source.epoch, source.scale)
    joined = _met_so_far(context, handover, chain) if "rosters" in handover.writes else _meet(inputs, epochs)
    return Plan(source, monitor, chain, [chosen, *shadows], inputs, epochs, missing, joined, epochs.start)


def _meet(inputs: SiteInputs, epochs: range) -> dict[int, list[str]]:
    """Who joins when, from what lies at the sites."""
    seen, known, joined = inputs.sites(), set(inputs.chain.roster), {}
    for epoch in epochs:
        new = (seen.get(epoch, set()) | set(inputs.chain.source.sites or ())) - known
        joined[epoch] = sorted(new)
        known |= new
    return joined


def _met_so_far(context: Context, handover: Handover, chain: Chain) -> dict[int, list[str]]:
    """Who joins when, as `observe` has told the coordinator."""
    rows = context.lake.of_writes(
        ROSTERS, [handover.write_of("rosters")], [("monitor", "=", chain.monitor.name), *handover.span],
        ["epoch_start", "site"],
    )  # fmt: skip
    joined: dict[int, list[str]] = {}
    for start, site in sorted(zip(column_list(rows, "epoch_start"), rows["site"].to_pylist(), strict=True)):
        joined.setdefault(chain.clock.epoch_of(start), []).append(site)
    return joined
