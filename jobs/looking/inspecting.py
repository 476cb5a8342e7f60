"""`farwatch inspect`: what the nodes of a sealed epoch said and remember, decoded."""

from __future__ import annotations

from typing import Literal, get_args

from jobs.epoch.context import Context
from jobs.looking import inspection_report
from jobs.looking.inspection import inspect
from monitoring_lib.errors import UsageError
from monitoring_lib.network import node_of_site
from monitoring_lib.suggest import nearest

What = Literal["messages", "state", "answer", "seal"]


def run(
    monitor: str, *, epoch: str | None = None, node: str | None = None, site: str | None = None,
    method: str | None = None, what: str = "messages", as_json: bool = False,
) -> None:  # fmt: skip
    """Prints one of the four for the epoch that holds the time `epoch` (default: the last sealed)."""
    if what not in get_args(What):
        raise UsageError(f"--what {what}: unknown{nearest(what, get_args(What))}")
    if node is not None and site is not None:
        raise UsageError("--node and --site name the same thing twice; a site's name goes to --site")
    if what == "seal" and (node is not None or site is not None or method is not None):
        raise UsageError("a seal is of the whole epoch; leave --node, --site and --method out")
    wanted = node_of_site(site) if site is not None else node
    found = inspect(Context.from_environment(), monitor, epoch, what, wanted, method)
    inspection_report.show(found, as_json)
