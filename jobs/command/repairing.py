"""`farwatch repair`: the logs of damaged tables are put right, so that what is left of them can be read."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.epoch.context import Context
from jobs.lake.repair import repair
from jobs.terminal.console import say
from monitoring_lib.errors import UsageError
from monitoring_lib.suggest import nearest
from monitoring_lib.tables import TABLES


def run(names: Sequence[str]) -> None:
    """These tables, or all of them."""
    lake = Context.from_environment().lake
    for name in names:
        if name not in TABLES:
            raise UsageError(f"{name!r} is no table{nearest(name, list(TABLES))}")
    done = [line for name in names or TABLES for line in repair(lake.store_of(TABLES[name]), TABLES[name])]
    for line in done:
        say(line)
    if not done:
        say("nothing that the logs of these tables name is gone")
