"""A helper process: `python -m jobs.sites.helper` does the monitors whose names come in, until no more come.

It is started by `jobs.sites.helpers`, in the environment of the run: the same configuration and tables.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any

import pyarrow as pa

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.output import GatheredRows
from jobs.epoch.runs import runs_of
from jobs.sites.choice import Places
from jobs.sites.parcels import Parcel
from jobs.sites.resolving import Resolving, first_cursors
from jobs.sites.shared import SharedJobs


def serve(context: Context, order: Mapping[str, Any], names: Iterable[str], out: IO[bytes]) -> None:
    """A parcel for each name; an error ends the process, and whoever asked does the rest."""
    if str(context.home) != order["home"]:
        raise ValueError(f"the run is of {order['home']}, this environment of {context.home}")
    handover = Handover.from_json(order["handover"])
    runs, first = runs_of(context, handover), first_cursors(context, handover)
    for name in names:
        run = runs[name]
        if context.config.digest_of(run.monitor) != order["digests"][name]:
            raise ValueError(f"{name}: the configuration has changed since the run began")
        rows = GatheredRows(order["write"])
        resolving = Resolving(context, handover, rows, SharedJobs(context.lake), Places(context, handover))
        resolving.in_process(run, first[name])
        made = {table.name: pa.concat_tables(parts) for table, parts in rows.rows.items() if parts}
        Parcel(name, handover.local.cursors[name].to_json(), made).write(out)


def main() -> None:
    lines = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # what anything prints must not get between the rows
        order = json.loads(lines.readline() or "null")
        if order is not None:
            serve(Context.from_environment(), order, (json.loads(line) for line in lines), out)


if __name__ == "__main__":
    main()
