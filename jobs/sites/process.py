"""The sites' side in this process: for a range of epochs whose states are small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from jobs.epoch.inputs import Inputs
from jobs.epoch.memory import Memory
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.restoring import restore_sites
from jobs.epoch.rows import message_rows, state_rows
from jobs.lake import Lake
from monitoring_lib.answers import Answers
from monitoring_lib.engine import LocalSites
from monitoring_lib.methods import Method
from monitoring_lib.network import Message, node_of_site, site_of_node
from monitoring_lib.states import Kept
from monitoring_lib.tables import OUTBOX, SITE_STATES


@dataclass
class ProcessSites:
    """Sites whose states are restored when first needed; what has to be stored waits in `states` and `outbox`."""

    lake: Lake
    run: MonitorRun
    method: Method
    inputs: Inputs
    write: str
    observed: str = ""
    """The write under which the sites have observed the first epoch in another process, if they have."""
    epoch: int = -1
    states: list[pa.Table] = field(default_factory=list)
    outbox: list[pa.Table] = field(default_factory=list)
    records: Sequence[dict[str, Any]] = ()
    """None: whoever writes the states records them."""
    stored: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    """By epoch, the sites of which a state was stored, and in which form."""
    _memory: Memory | None = None
    _sites: LocalSites | None = None
    _kept: dict[str, Kept] = field(default_factory=dict)

    def go_on(self, write: str) -> ProcessSites:
        """The same sites for the next step, which writes under an id of its own."""
        self.write, self.states, self.outbox = write, [], []
        return self

    def observe(self, epoch: int) -> list[Message]:
        """Every present site takes in the epoch; what they say on their own account."""
        local, method = self._local(), self.method
        self.epoch, self._kept = epoch, {}
        moment = self.run.moment(method, epoch)
        sent = local.observe(moment, self.inputs.arriving(method, epoch), self.inputs.expiring(method, epoch))
        self.states.append(
            state_rows(
                SITE_STATES, self._kept, self.run.start_of(epoch), self.run.monitor.name, method.name, self.write
            )
        )  # fmt: skip
        self.stored[epoch] = [(site, kept.form) for site, kept in self._kept.items()]
        self._note(sent)
        return sent

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        sent = self._local().exchange(round_, self._here(inbox))
        self._note(sent)
        return sent

    def take_upkeep(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> None:
        """After the last epoch nobody waits for it: the next run replays it from the messages."""
        if self.epoch + 1 < self.run.numbers.stop:
            self._local().take_upkeep(round_, self._here(inbox))

    def answers(self) -> Answers:
        return self._local().answers() if self.method.site.publishes else Answers.of()

    def faults(self) -> list[str]:
        """Invariants that the states of sites which publish break."""
        if not self.method.site.publishes:
            return []
        states, role = self._local().states, self.method.site
        nodes = map(node_of_site, self.run.present(self.epoch))
        return [f"{node}: {fault}" for node in nodes for fault in role.faults(states[node])]

    def observed_before(self, epoch: int) -> None:
        """The sites have observed this epoch under `observed`: they stand right after it."""
        self.epoch = epoch
        if len(self.run.plan.epochs) > 1:
            self._local()  # restored now: later epochs change what would be restored

    def _here(self, inbox: Mapping[str, Sequence[Message]]) -> Mapping[str, Sequence[Message]]:
        """Without sites that are missing all through the run: they hear it when they are back."""
        absent = self._absent()
        return {node: messages for node, messages in inbox.items() if node not in absent} if absent else inbox

    def _absent(self) -> set[str]:
        epochs = self.run.plan.epochs
        return set(map(node_of_site, set(epochs[0].missing).intersection(*(one.missing for one in epochs))))

    def _local(self) -> LocalSites:
        """The sites as their last epoch left them, or as `observed` did."""
        if self._sites is None:
            absent = self._absent()
            sites = [site for site in self.run.sites(self.run.first) if node_of_site(site) not in absent]
            self._memory = restore_sites(self.lake, self.run, self.method, sites, self.observed)
            self._sites = LocalSites(self.method, self._memory.states, self._keep)
            self._sites.moment = self.run.moment(self.method, self.run.first)
        return self._sites

    def _keep(self, node: str, state: Any) -> None:
        assert self._memory is not None
        kept = self._memory.changed(node, state, self.epoch)
        if kept is not None:
            self._kept[site_of_node(node)] = kept

    def _note(self, sent: Sequence[Message]) -> None:
        self.outbox.append(
            message_rows(sent, self.run.clock, self.run.monitor.name, self.method.name, self.write, OUTBOX)
        )
