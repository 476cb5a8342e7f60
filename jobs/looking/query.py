"""`farwatch query`: a monitor's sealed answer with its bounds, or read-only SQL over everything sealed."""

from __future__ import annotations

from typing import Any

import yaml

from jobs.epoch.context import Context
from monitoring_lib.epochs import parse_duration
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import LookUp
from monitoring_lib.network import node_of_site


def run(
    *monitors: str, epoch: str | None = None, history: int = 0, brief: bool = False, sql: str | None = None,
    node: str | None = None, links: bool = False, point: str | None = None, range_: str | None = None,
    ask: str | None = None, limit: int = 10_000, seconds: float = 60, memory: str = "2GiB", as_json: bool = False,
) -> None:  # fmt: skip
    """Prints the answers of the epoch that holds the time `epoch` (default: the last sealed), or a SQL result."""
    if bool(monitors) == (sql is not None):
        raise UsageError("name a monitor, or ask by --sql 'SELECT …'; `farwatch status` lists the monitors")
    looks_up = point is not None or range_ is not None or ask is not None
    if sql is not None and (epoch is not None or history or brief or node or links or looks_up):
        raise UsageError("--epoch, --history and the like belong to a monitor; write a WHERE into the SQL instead")
    if history < 0:
        raise UsageError(f"--history {history}: write a number of epochs, 1 or more")
    if brief and (epoch is not None or history or looks_up):
        raise UsageError("--brief shows the last sealed epoch: leave out --epoch, --history, --point, --range, --ask")
    context = Context.from_environment()
    wanted = None if node is None else node if node.startswith("@") else node_of_site(node)
    if sql is not None:
        from jobs.looking import sql_report
        from jobs.looking.sql import QueryLimits

        sql_report.show(context, sql, as_json, QueryLimits(limit, seconds, memory))
        return
    if point is not None and ask is not None:
        raise UsageError("--point and --ask: ask one thing at a time")
    if looks_up:
        from jobs.looking import looking_up

        if len(monitors) > 1:
            raise UsageError("--point, --range and --ask: ask one monitor at a time")

        asked = LookUp(point, None if range_ is None else _duration(range_), {} if ask is None else _query(ask))
        found_epoch, answers = looking_up.look_up(context, monitors[0], epoch, asked, wanted)
        looking_up.show(found_epoch, asked, answers, as_json)
        return
    from jobs.looking import answer_report
    from jobs.looking.answer import look, look_briefly
    from jobs.looking.traffic import loads_of

    found = [
        look_briefly(context, monitor) if brief else look(context, monitor, epoch, history) for monitor in monitors
    ]
    loads = [loads_of(context.lake, one.epoch) if links else None for one in found]
    answer_report.show([one if wanted is None else one.of_node(wanted) for one in found], as_json, loads)


def _query(text: str) -> dict[str, Any]:
    """A query as a monitor's file has it, such as ``heavy_hitters: 0.02``."""
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"--ask {text!r} is no YAML: {error}") from error
    if not isinstance(found, dict) or not found or not all(isinstance(key, str) for key in found):
        raise UsageError(f"--ask {text!r}: write a key and a value, such as --ask 'quantiles: [0.5]'")
    return found


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--range: {error}") from error
