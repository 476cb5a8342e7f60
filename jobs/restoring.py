"""The nodes' states of the last sealed epoch, made again from the rows that its chain names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from jobs.chain import Chain
from jobs.lake import Lake, column_list
from jobs.lake.seals import Seal
from jobs.lake.store import Condition
from jobs.rows import messages_of
from monitoring_lib.engine import replay
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import Message, is_site, node_of_site, site_of_node
from monitoring_lib.states import Kept, keep, mark, restore
from monitoring_lib.tables import MESSAGES, SITE_STATES, STATES, Table


@dataclass
class Memory:
    """States by node, and for each the frame by which a change of it is seen."""

    states: dict[str, Any] = field(default_factory=dict)
    quiet: dict[str, bytes] = field(default_factory=dict)

    def hold(self, node: str, state: Any) -> None:
        """A state as it is stored: changes count from here."""
        self.states[node] = state
        self.quiet[node] = mark(state)

    def changed(self, node: str, state: Any) -> Kept | None:
        """What must be stored of the state, which from then on counts as stored."""
        kept = keep(state, self.quiet.get(node))
        if kept is not None:
            self.quiet[node] = mark(state)
        return kept


def moment_of(chain: Chain, method: Method, epoch: int, roster: Sequence[str], missing: Sequence[str]) -> Moment:
    """What every node knows of an epoch."""
    sites = tuple(sorted(map(node_of_site, roster)))
    return Moment(
        epoch, chain.clock.start_of(epoch), chain.clock.end_of(epoch), method.ask.window.period_of(epoch),
        method.topology(sites), sites, frozenset(map(node_of_site, missing)),
    )  # fmt: skip


def restore_sites(lake: Lake, chain: Chain, method: Method, also: Sequence[Seal] = ()) -> Memory:
    """The sites' states at the end of the chain: as stored, then with the messages received since.

    `also` names a write of the epoch after the chain that is not sealed yet: sites that observed in it are
    restored as they were right after that.
    """
    memory = _restored(lake, chain, method, SITE_STATES, "site_states", "site", also)
    fresh = _observed_in(also, chain)
    for epoch, messages in _messages_since(lake, chain, method).items():
        moment = moment_then(chain, method, epoch)
        for node, (received, sent) in _by_site(messages).items():
            site = site_of_node(node)
            if site in fresh or chain.last_seen.get(site, -1) > epoch:
                continue
            if node not in memory.states:
                memory.states[node] = method.site.start(node)
            replay(method, moment, node, memory.states[node], received, sent)
    return memory


def restore_inner(lake: Lake, chain: Chain, method: Method) -> Memory:
    """The states of the coordinator and of a tree's inner nodes at the end of the chain."""
    return _restored(lake, chain, method, STATES, "states", "node")


def _restored(
    lake: Lake, chain: Chain, method: Method, table: Table, output: str, owner: str, also: Sequence[Seal] = ()
) -> Memory:  # fmt: skip
    conditions: list[Condition] = [("monitor", "=", chain.monitor.name), ("method", "=", method.name)]
    seals = [*chain.living(method.name), *also]
    marks = lake.sealed(table, seals, [output], conditions, [owner, "epoch_start", "form"])
    bases: dict[str, int] = {}
    for name, start, form in zip(
        marks[owner].to_pylist(), column_list(marks, "epoch_start"), marks["form"].to_pylist(), strict=True
    ):
        if form == "base":
            bases[name] = max(start, bases.get(name, start))
    oldest = min(bases.values(), default=0)
    needed = [seal for seal in seals if seal.epoch_start >= oldest]
    rows = lake.sealed(table, needed, [output], conditions, [owner, "epoch_start", "form", "payload"])
    memory = Memory()
    kind = method.site.State if table.at_sites else None
    for name, kept in _kept(rows, owner, bases).items():
        node = node_of_site(name) if table.at_sites else name
        memory.hold(node, restore(kind or method.role(node).State, kept))
    return memory


def _kept(rows: pa.Table, owner: str, bases: Mapping[str, int]) -> dict[str, list[Kept]]:
    """Each owner's rows from its last base on, in order."""
    kept: dict[str, list[Kept]] = {}
    for row in rows.sort_by("epoch_start").to_pylist():
        start = to_microseconds(row["epoch_start"])
        if start >= bases.get(row[owner], start):
            kept.setdefault(row[owner], []).append(Kept(row["form"], row["payload"]))
    return kept


def _observed_in(also: Sequence[Seal], chain: Chain) -> set[str]:
    if not also:
        return set()
    known = chain.roster | set(also[0].joined_sites)
    return known - set(also[0].missing_sites)


def _messages_since(lake: Lake, chain: Chain, method: Method) -> dict[int, list[Message]]:
    """The messages that some site has received since it was last stored, by epoch."""
    living = chain.living(method.name)
    first = min((chain.last_seen.get(site, -1) for site in chain.roster), default=0)
    seals = [seal for seal in living if chain.clock.epoch_of(seal.epoch_start) >= first]
    conditions: list[Condition] = [("monitor", "=", chain.monitor.name), ("method", "=", method.name)]
    by_epoch: dict[int, list[Message]] = {}
    for message in messages_of(lake.sealed(MESSAGES, seals, ["inbox", "messages"], conditions), chain.clock):
        by_epoch.setdefault(message.epoch, []).append(message)
    return by_epoch


def moment_then(chain: Chain, method: Method, epoch: int) -> Moment:
    """The moment of an epoch of the chain, with the sites that were known then."""
    roster: set[str] = set()
    for seal in chain.seals:
        roster |= set(seal.joined_sites)
        if chain.clock.epoch_of(seal.epoch_start) == epoch:
            return moment_of(chain, method, epoch, sorted(roster), seal.missing_sites)
    raise LookupError(f"epoch {epoch} is not part of the chain of {chain.monitor.name}")


def _by_site(messages: Sequence[Message]) -> dict[str, tuple[list[Message], list[Message]]]:
    """For each site what it received, and what it sent in answer."""
    sites: dict[str, tuple[list[Message], list[Message]]] = {}
    for message in messages:
        if is_site(message.receiver):
            sites.setdefault(message.receiver, ([], []))[0].append(message)
        if is_site(message.sender) and message.round:
            sites.setdefault(message.sender, ([], []))[1].append(message)
    return sites
