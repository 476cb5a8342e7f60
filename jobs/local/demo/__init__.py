"""`farwatch demo`: six epochs of a generated trace through Airflow, Spark, Delta and Great Expectations, and an audit.

Everything happens in a folder of its own, on loopback, and ends with the command.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from jobs.local.demo import report
from jobs.local.demo.view import DemoView, stage
from jobs.local.demo.watch import run_audit, watch
from jobs.local.demo.world import SITES, SOURCE, only_one_demo
from jobs.local.servers import airflow_server, spark_server, standby
from jobs.local.servers.airflow_server import LONGEST_MIGRATION
from jobs.local.servers.process import Servers
from jobs.terminal.console import say


def run(home: Path | None = None, hours: int = 6) -> None:
    """Runs the demo below `home` (FARWATCH_HOME, else here) and prints what a person wants to read."""
    begun = time.monotonic()
    with only_one_demo(home, hours) as world, _ended_by_signals():
        say(f"{hours} hours of a content network with {SITES} sites, epoch by epoch, in {world.folder}")
        with Servers() as servers:
            spark = spark_server.begin(world.folder / "spark", restarts=spark_server.RESTARTS)
            servers.add(spark.server)
            steps, ready = standby.begin(world.folder / "standby", world.environment)
            servers.add(steps)
            given = world.environment | ready | {"FARWATCH_SPARK_REMOTE": spark.remote}
            airflow = airflow_server.prepare(world.airflow, world.dags, given)
            migration = servers.add(airflow.begin_migration())
            with stage(begun, "generating requests, one file for each site and hour"):
                world.generate()
            with stage(begun, "making Airflow's database"):
                servers.finish(migration, LONGEST_MIGRATION)
            parts = [servers.add(part) for part in airflow.begin()]
            with stage(begun, "starting Spark"):
                spark_server.wait_ready(spark)
            with stage(begun, "starting Airflow"):
                airflow_server.wait_ready(airflow, parts)
            with DemoView(begun, world.epochs) as view:
                done = watch(world, airflow, servers, view)
            airflow.api.patch(f"/dags/epochs-{SOURCE}", {"is_paused": True})
            with stage(begun, "auditing every answer against all landed events"):
                run_audit(world, airflow, servers)
        report.show(world, done)
        say(f"\nDone in {time.monotonic() - begun:.0f} s; nothing is left running.")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A polite end (SIGTERM, a closed terminal) is handled like Ctrl-C: what was started is stopped first."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
