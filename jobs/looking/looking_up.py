"""`farwatch query MONITOR --point X | --ask QUERY | --range 3d`: what the stored state says to another question."""

from __future__ import annotations

from typing import Any

from jobs.epoch.context import Context
from jobs.epoch.restoring import restore_inner, restore_sites
from jobs.looking import printing
from jobs.looking.answer_tables import bare_table
from jobs.looking.sealed import SealedEpoch, find_epoch
from jobs.looking.storage import require_site_tables
from monitoring_lib.answers import Answers
from monitoring_lib.epochs import format_duration, format_time, to_datetime
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import LookUp, Role
from monitoring_lib.network import COORDINATOR, is_site, site_of_node


def look_up(
    context: Context, monitor: str, time: str | None, asked: LookUp, node: str | None
) -> tuple[SealedEpoch, Answers]:
    """Asks the coordinator's state, or that of a site where sites answer themselves.

    While rows of the epoch's window are owed, what it says is partial: the state does not know which ranges lack them.
    """
    epoch = find_epoch(context, monitor, time)
    method, run = epoch.method(), epoch.run_after(context.lake)
    moment = run.moment(method, run.plan.cursor.epoch)
    name = node or (COORDINATOR if COORDINATOR in moment.topology.inner else moment.sites[0])
    role: Role[Any]
    if is_site(name):
        require_site_tables(context.lake)
        states, role = restore_sites(context.lake, run, method, [site_of_node(name)]).states, method.site
    else:
        states, role = restore_inner(context.lake, run, method).states, method.role(name)
    if name not in states:
        raise UsageError(f"{monitor} had no node {name!r} in epoch {format_time(epoch.seal.epoch_start)}")
    found = role.look_up(states[name], moment, asked)
    return epoch, found.as_partial() if moment.owed else found


def show(epoch: SealedEpoch, asked: LookUp, answers: Answers, as_json: bool) -> None:
    rows: list[dict[str, Any]] = answers.table.to_pylist()
    for row in rows:
        row["tick"] = to_datetime(row["tick"])
    wanted = {
        "point": asked.point, "range": None if asked.range is None else format_duration(asked.range), **asked.query,
    }  # fmt: skip
    if as_json:
        about = {"monitor": epoch.monitor.name, "epoch_start": format_time(epoch.seal.epoch_start)}
        printing.print_json(about | wanted | {"answers": rows})
        return
    words = ", ".join(f"{name} {value}" for name, value in wanted.items() if value is not None)
    printing.line(f"{epoch.monitor.name}, epoch {format_time(epoch.seal.epoch_start)}: {words}", "bold")
    if rows:
        printing.show(bare_table(rows))
    else:
        printing.line("nothing is known of it")
