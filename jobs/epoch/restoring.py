"""The nodes' states before a run's first epoch, made again from the rows that its plan names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from jobs.epoch.checked import WantedParts
from jobs.epoch.cursor import StoredState
from jobs.epoch.memory import Memory
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.rows import messages_of
from jobs.lake import Lake, column_list
from monitoring_lib.engine import replay
from monitoring_lib.methods import Method
from monitoring_lib.network import Message, is_site, node_of_site
from monitoring_lib.states import Kept
from monitoring_lib.tables import MESSAGES, SITE_STATES, STATES, Table


def restore_sites(
    lake: Lake, run: MonitorRun, method: Method, sites: Collection[str], observed: str = ""
) -> Memory:  # fmt: skip
    """The states of these sites as the epoch before the run left them: as stored, then with what they heard since.

    Where `observed` names a write, the sites have observed the run's first epoch under it already: those that
    took part are restored as they were right after that.
    """
    stored = {site: run.plan.cursor.sites.get(method.name, {}).get(site) for site in sites}
    fresh = set(run.present(run.first)).intersection(sites) if observed else set()
    memory = _restored(lake, run, method, SITE_STATES, "site_states", stored, observed)
    seen = {
        node_of_site(member.site): run.plan.cursor.last_seen(member)
        for member in run.plan.cursor.members
        if member.site in stored and member.site not in fresh
    }
    for epoch, messages in sorted(_messages_since(lake, run, method, seen.values()).items()):
        moment = run.moment(method, epoch)
        for node, (received, sent) in _by_site(messages).items():
            if seen.get(node, epoch + 1) > epoch:
                continue
            if node not in memory.states:
                memory.states[node] = method.site.start(node)
            replay(method, moment, node, memory.states[node], received, sent)
    return memory


def restore_inner(lake: Lake, run: MonitorRun, method: Method) -> Memory:
    """The states of the coordinator and of a tree's inner nodes before the run's first epoch."""
    stored: Mapping[str, StoredState | None] = dict(run.plan.cursor.inner.get(method.name, {}))
    if method.name in run.plan.anew:
        stored = {}
    return _restored(lake, run, method, STATES, "states", stored)


def _restored(
    lake: Lake, run: MonitorRun, method: Method, table: Table, output: str, stored: Mapping[str, StoredState | None],
    observed: str = "",
) -> Memory:  # fmt: skip
    owner = "site" if table.at_sites else "node"
    intervals = {name: one for name, one in stored.items() if one is not None and method.name not in run.plan.anew}
    wanted = WantedParts(run, table, run.monitor.name, method.name)
    wanted.sealed([output], {epoch for one in set(intervals.values()) for epoch in range(one.base, one.last + 1)})
    if observed:
        wanted.written(lake, observed, [run.first])
    rows = wanted.read(lake)
    memory = Memory()
    for name, (base, kept) in _kept(run, rows, owner, stored, intervals).items():
        node = node_of_site(name) if table.at_sites else name
        kind = method.site.State if table.at_sites else method.role(node).State
        memory.hold(node, kind, kept, base)
    return memory


def _kept(
    run: MonitorRun, rows: pa.Table, owner: str, wanted: Collection[str], intervals: Mapping[str, StoredState]
) -> dict[str, tuple[int, list[Kept]]]:
    """Each owner's rows from its last base on, in order, and the base's epoch."""
    rows = rows.sort_by("epoch_start")
    columns = [rows[name].to_pylist() for name in (owner, "form", "payload")]
    found: dict[str, tuple[int, list[Kept]]] = {}
    for start, name, form, payload in zip(column_list(rows, "epoch_start"), *columns, strict=True):
        epoch = run.clock.epoch_of(start)
        one = intervals.get(name)
        if name not in wanted or (one is not None and epoch < one.base):
            continue
        if form == "base":
            found[name] = (epoch, [Kept(form, payload)])
        elif name in found:
            found[name][1].append(Kept(form, payload))
        else:
            found[name] = (epoch, [Kept(form, payload)])
    return found


def _messages_since(lake: Lake, run: MonitorRun, method: Method, seen: Iterable[int]) -> dict[int, list[Message]]:
    """The messages that some site may have received since it was last stored, by epoch."""
    first = max(min(seen, default=run.first), run.begun(method.name), run.plan.cursor.first)
    wanted = WantedParts(run, MESSAGES, run.monitor.name, method.name)
    rows = wanted.sealed(["inbox", "messages"], range(first, run.first)).read(lake)
    by_epoch: dict[int, list[Message]] = {}
    for message in messages_of(rows, run.clock):
        by_epoch.setdefault(message.epoch, []).append(message)
    return by_epoch


def _by_site(messages: Sequence[Message]) -> dict[str, tuple[list[Message], list[Message]]]:
    """For each site what it received, and what it sent in answer."""
    sites: dict[str, tuple[list[Message], list[Message]]] = {}
    for message in messages:
        for receiver in message.receivers:
            if is_site(receiver):
                sites.setdefault(receiver, ([], []))[0].append(message)
        if is_site(message.sender) and message.round:
            sites.setdefault(message.sender, ([], []))[1].append(message)
    return sites
