"""Planning an epoch late in a long chain of many sites: `python -m benchmarks.planning [--sites N] [--epochs N]`.

A ledger is made with a seal for every epoch, each a commit of its own, and the cursor that the last one leaves. Then
the epoch after it is planned by a store that opens its tables anew, as the gate does: where the chain stands, whether
it hangs together, who takes part, which sealed epochs are read, and the plan as it is stored. Ends with 1 above 0.5 s.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import cast

import pyarrow as pa

from jobs.epoch.arrivals import Arrivals
from jobs.epoch.chain import begin
from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor, Member, StoredState
from jobs.epoch.handover import Handover
from jobs.epoch.planning import make_plan
from jobs.epoch.retiring import Leaving
from jobs.epoch.rows import cursor_row
from jobs.epoch.runs import store_plans
from jobs.lake.content import digest_rows
from jobs.lake.seals import Seal
from monitoring_lib.config import load, meaning_of
from monitoring_lib.network import COORDINATOR
from monitoring_lib.tables import CURSORS
from tests.jobs.sealed_home import BUSIEST, SOURCE, SealedHome

MOST_SECONDS = 0.5
OUTPUTS = ("gate", "synopses", "rosters", "inbox", "messages", "states", "cursors", "drafts", "validations")


def build(home: Path, sites: int, epochs: int) -> None:
    """The ledger and the last cursor."""
    SealedHome(home, (BUSIEST | {"window": "24h", "method": "margins"},), SOURCE)
    context = Context(load(home / "conf"), home)
    source, monitor = context.config.source("shop"), context.config.monitor("busiest")
    names = [f"site {number:05}" for number in range(sites)]
    draw, last = random.Random(1), epochs - 1
    stored = {name: StoredState(last - draw.randrange(64), last) for name in names}
    cursor = Cursor(
        last, tuple(Member(name, 0) for name in names), sites={"margins": stored},
        inner={"margins": {COORDINATOR: StoredState(last - 40, last)}},
    )  # fmt: skip
    left = cursor_row(cursor, source.clock.start_of(last), "busiest", f"cursors-{last:032x}")
    context.lake.append(CURSORS, left)
    digest = digest_rows(CURSORS, left)
    parent = ""
    for epoch in range(epochs):
        seal = Seal(
            "shop", "busiest", source.clock.start_of(epoch), 0, f"resolve-{epoch:032x}",
            {output: f"{output}-{epoch:032x}" for output in (*OUTPUTS, "site_states")},
            dict.fromkeys(OUTPUTS, f"{epoch:032x}") | ({"cursors": digest} if epoch == last else {}),
            joined_sites=() if epoch else names, parent=parent,
            config_digest=context.config.digest_of(monitor), config=meaning_of(monitor, source),
            checked=context.lake.ledger.version,
        )  # fmt: skip
        context.lake.ledger.seal([seal], source.epoch)
        parent = seal.digest


def plan(home: Path, sites: int, epochs: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor, with tables that nobody has opened before."""
    context = Context(load(home / "conf"), home)
    source, monitor = context.config.source("shop"), context.config.monitor("busiest")
    start = source.clock.start_of(epochs)
    names = pa.array([f"site {number:05}" for number in range(sites)])
    arrivals = Arrivals(pa.table({"epoch": pa.repeat(epochs, sites), "site": names}))
    handover = Handover.begin("shop", source.clock, start, start + source.epoch, [])
    begun, used = time.perf_counter(), time.process_time()
    made = make_plan(context.lake, begin(context, source, monitor, start, handover.end), arrivals, {}, {}, Leaving())
    store_plans(context, handover, [made], "gate-1")
    return time.perf_counter() - begun, time.process_time() - used


def main() -> int:
    parser = argparse.ArgumentParser(description=cast(str, __doc__).splitlines()[0])
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), given.sites, given.epochs)
        took = [plan(Path(folder), given.sites, given.epochs) for _ in range(5)]
    seconds, used = (median(column) for column in zip(*took, strict=True))
    print(f"{given.sites:,} sites, {given.epochs:,} epochs: planned in {seconds:.3f} s (at most {MOST_SECONDS})")
    print(f"of the processor {used:.3f} s")
    return int(seconds > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
