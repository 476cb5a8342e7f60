"""The sites' side in this process: for a range of epochs whose states are small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.epoch_plan import Plan
from jobs.lake import Lake
from jobs.restoring import Memory, restore_sites
from jobs.rows import message_row
from monitoring_lib.engine import LocalSites
from monitoring_lib.epochs import to_datetime
from monitoring_lib.methods import Answer, Method
from monitoring_lib.network import Message, site_of_node


@dataclass
class ProcessSites:
    """Sites whose states are restored when first needed; rows to be stored gather in `states` and `outbox`."""

    lake: Lake
    plan: Plan
    method: Method
    write: str
    states: list[dict[str, Any]] = field(default_factory=list)
    outbox: list[dict[str, Any]] = field(default_factory=list)
    observed: str = ""
    """The write under which the sites have observed the plan's epoch in another process, if they have."""
    _memory: Memory | None = None
    _sites: LocalSites | None = None

    def go_on(self, plan: Plan, write: str) -> ProcessSites:
        """The same sites for the next step, which plans and writes for itself."""
        self.plan, self.write, self.states, self.outbox = plan, write, [], []
        return self

    def observe(self) -> list[Message]:
        """Every present site takes in the plan's epoch; what they say on their own account."""
        local, epoch, chain = self.restore(), self.plan.epoch, self.plan.chain
        arriving = self.plan.inputs.arriving(epoch, self.method.name in chain.anew)
        expiring = {} if self.method.name in chain.anew else self.plan.inputs.expiring(epoch, chain.last_seen)
        sent = local.observe(self.plan.moment(self.method), arriving, expiring)
        self.outbox += [self._message(message) for message in sent]
        return sent

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        sent = self.restore().exchange(round_, inbox)
        self.outbox += [self._message(message) for message in sent]
        return sent

    def take_upkeep(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> None:
        """After the last epoch nobody waits for it: the next run replays it from the messages."""
        if self.plan.epoch + 1 < self.plan.epochs.stop:
            self.restore().take_upkeep(round_, inbox)

    def answers(self) -> list[Answer]:
        return self.restore().answers() if self.method.site.publishes else []

    def restore(self) -> LocalSites:
        """The sites as their last epoch left them, or as `observed` did."""
        if self._sites is None:
            also = [self.plan.unsealed({"site_states": self.observed})] if self.observed else []
            self._memory = restore_sites(self.lake, self.plan.chain, self.method, also)
            self._sites = LocalSites(self.method, self._memory.states, self._keep)
            self._sites.moment = self.plan.moment(self.method)
        return self._sites

    def _keep(self, node: str, state: Any) -> None:
        assert self._memory is not None
        kept = self._memory.changed(node, state)
        if kept is not None:
            start = to_datetime(self.plan.epoch_start)
            self.states.append(
                {
                    "monitor": self.plan.monitor.name, "method": self.method.name, "epoch_start": start,
                    "day": start.date(), "site": site_of_node(node), "form": kept.form,
                    "payload": kept.payload, "write": self.write,
                }
            )  # fmt: skip

    def _message(self, message: Message) -> dict[str, Any]:
        row = message_row(message, self.plan.chain.clock, self.plan.monitor.name, self.method.name, self.write)
        return row | {"day": row["epoch_start"].date()}
