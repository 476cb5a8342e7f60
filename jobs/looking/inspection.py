"""Messages, states, answers and the seal of one epoch in plain JSON types, as sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobs.epoch.checked import check_sealed
from jobs.epoch.context import Context
from jobs.epoch.restoring import restore_inner, restore_sites
from jobs.lake import column_list
from jobs.lake.conditions import RowCondition
from jobs.looking.printing import plain
from jobs.looking.readable import content_of_image
from jobs.looking.sealed import SealedEpoch, find_epoch
from jobs.looking.storage import require_site_tables
from jobs.terminal.wording import printable
from monitoring_lib.codec import readable
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Method
from monitoring_lib.network import is_site, site_of_node
from monitoring_lib.suggest import nearest
from monitoring_lib.tables import DRAFTS, MESSAGES


@dataclass(frozen=True)
class Inspection:
    """What was asked for, as records: one a message, a node's state or an answer's row; of a seal just one."""

    epoch: SealedEpoch
    what: str
    method: str
    records: Sequence[Mapping[str, Any]]


def inspect(
    context: Context, monitor: str, time: str | None, what: str, node: str | None = None,
    method: str | None = None,
) -> Inspection:  # fmt: skip
    """UsageError if the epoch has no such node or did not run the method."""
    epoch = find_epoch(context, monitor, time)
    if node is not None:
        _check_node(context, epoch, node)
    chosen = epoch.method(method)
    looks = {"messages": _messages, "state": _states, "answer": _answers}
    records = looks[what](context, epoch, chosen, node) if what in looks else [_seal(epoch)]
    return Inspection(epoch, what, chosen.name, records)


def _check_node(context: Context, epoch: SealedEpoch, node: str) -> None:
    moment = epoch.moment(context.lake, epoch.method())
    sites, inner = moment.sites, moment.topology.inner
    if node not in {*sites, *inner}:
        name = site_of_node(node) if is_site(node) else node
        raise UsageError(
            f"{epoch.monitor.name} had no node '{printable(name)}' in epoch"
            f" {format_time(epoch.seal.epoch_start)}{_nearest(name, [*epoch.chain.sites, *inner])}"
        )


def _nearest(name: str, known: Sequence[str]) -> str:
    """The nearest name, or a few of them: there may be thousands."""
    found = nearest(name, known)
    return found if found.startswith("; did") else nearest(name, sorted(known)[:5]).replace("known:", "such as")


def _messages(context: Context, epoch: SealedEpoch, method: Method, node: str | None) -> list[dict[str, Any]]:
    """What was sent, in order of delivery; of one node: what it sent and received."""
    conditions: list[RowCondition] = [("monitor", "=", epoch.monitor.name), ("method", "=", method.name)]
    found = context.lake.sealed(MESSAGES, [epoch.seal], ["inbox", "messages"], conditions)
    check_sealed(context.lake, MESSAGES, ["inbox", "messages"], [epoch.seal], found, method.name)
    rows = found.to_pylist()
    rows.sort(key=lambda row: (row["round"], row["sender"], row["position"]))
    names = ("round", "sender", "receivers", "kind", "reason", "entries", "bytes")
    return [
        {name: row[name] for name in names} | {"content": content_of_image(row["payload"], *method.letters)}
        for row in rows
        if node is None or node in (row["sender"], *row["receivers"])
    ]


def _states(context: Context, epoch: SealedEpoch, method: Method, node: str | None) -> list[dict[str, Any]]:
    """What nodes remember at the end of the epoch: the inner ones, or the one that is asked for."""
    run, moment = epoch.run_after(context.lake), epoch.moment(context.lake, method)
    if node is not None and is_site(node):
        require_site_tables(context.lake)
        states = restore_sites(context.lake, run, method, [site_of_node(node)]).states
    else:
        states = restore_inner(context.lake, run, method).states
    return [
        {
            "node": name,
            "kind": type(state).__name__,
            "content": plain(readable(state)),
            "certificate": (method.site if is_site(name) else method.role(name)).certificate(state, moment),
        }
        for name, state in sorted(states.items())
        if node is None or name == node
    ]


def _answers(context: Context, epoch: SealedEpoch, method: Method, node: str | None) -> list[dict[str, Any]]:
    conditions: list[RowCondition] = [("monitor", "=", epoch.monitor.name), ("method", "=", method.name)]
    rows = context.lake.sealed(DRAFTS, [epoch.seal], ["drafts"], conditions)
    check_sealed(context.lake, DRAFTS, ["drafts"], [epoch.seal], rows, method.name)
    ticks = column_list(rows, "tick")
    names = ("node", "key", "rank", "estimate", "low", "high", "confidence", "partial")
    found = [
        {"tick": format_time(tick)} | {name: plain(row[name]) for name in names}
        for tick, row in zip(ticks, rows.to_pylist(), strict=True)
        if node is None or node == row["node"]
    ]
    return sorted(found, key=lambda row: (row["tick"], row["node"], row["rank"] or 0, row["key"]))


def _seal(epoch: SealedEpoch) -> dict[str, Any]:
    seal = epoch.seal
    times = {name: format_time(getattr(seal, name)) for name in ("epoch_start", "sealed_at")}
    return {**asdict(seal), **times, "digest": seal.digest}
