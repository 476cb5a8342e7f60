"""Several processes for the sequential part of a long range: each takes one monitor after another.

A helper reads tables and writes none: the rows that it makes come back, and are written under the run's own write. One
that ends, or cannot do a monitor, costs time and nothing else: the monitor is then done in the run's own process, which
also tells what is wrong with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor
from jobs.epoch.handover import Handover
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.output import Output
from jobs.sites.parcels import Parcel
from jobs.terminal.console import say
from monitoring_lib.tables import TABLES

_WORTH = 10_000
"""Epochs of single sites from which on a helper saves more than it takes to start."""
_MOST = 3
"""Helpers of one run: each takes the memory of a process."""


@dataclass
class Helpers:
    """The monitors that wait, and those that helpers have done. `left_over` is for the run's own process."""

    handover: Handover
    output: Output
    _waiting: deque[str]
    _busy: int = 0
    _over: bool = False
    _done: deque[Parcel] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @classmethod
    @contextmanager
    def for_runs(
        cls, context: Context, handover: Handover, output: Output, runs: Mapping[str, MonitorRun]
    ) -> Iterator[Helpers]:
        """As many as there are processors, if there is so much to do; none of them outlives the block."""
        work = sum(len(run.numbers) * len(run.members) for run in runs.values())
        many = min(len(os.sched_getaffinity(0)), len(runs), _MOST + 1) - 1 if work >= _WORTH else 0
        helpers = cls(handover, output, deque(runs))
        started = [helpers._start(context) for _ in range(many)]
        try:
            yield helpers
        finally:
            helpers._over = True
            for process, thread in started:
                process.kill()  # it has nothing of its own to lose
                thread.join()
                process.communicate()

    def left_over(self) -> Iterator[str]:
        """Monitors that no helper has taken, or that one has given up; rows of the others are added to the output."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._done or not self._busy)
                done = list(self._done)
                self._done.clear()
                name = self._waiting.popleft() if self._waiting else None
            for parcel in done:
                self._take(parcel)
            if name is not None:
                yield name
            elif not done:
                return

    def _take(self, parcel: Parcel) -> None:
        for table, rows in parcel.rows.items():
            self.output.add(TABLES[table], rows)
        local = self.handover.local
        local.cursors[parcel.monitor] = Cursor.from_json(parcel.cursor)
        for kept in (local.sites, local.said):
            for key in [key for key in kept if key[0] == parcel.monitor]:
                del kept[key]

    def _start(self, context: Context) -> tuple[subprocess.Popen[bytes], threading.Thread]:
        process = subprocess.Popen(
            [sys.executable, "-m", "jobs.sites.helper"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what it cannot do is done here, and told here
        )  # fmt: skip
        digests = {name: context.config.digest_of(context.config.monitor(name)) for name in self._waiting}
        order = {
            "home": str(context.home), "handover": self.handover.to_json(), "write": self.output.write,
            "digests": digests,
        }  # fmt: skip
        thread = threading.Thread(target=self._serve, args=(process, order), daemon=True)
        thread.start()
        return process, thread

    def _serve(self, process: subprocess.Popen[bytes], order: Mapping[str, object]) -> None:
        """Hands one monitor after another to a helper."""
        assert process.stdin is not None
        assert process.stdout is not None
        name: str | None = None
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            while (name := self._next()) is not None:
                process.stdin.write(json.dumps(name).encode() + b"\n")
                process.stdin.flush()
                parcel = Parcel.read(process.stdout)
                with self._changed:
                    self._done.append(parcel)
                    self._busy -= 1
                    self._changed.notify_all()
        except (OSError, ValueError) as error:
            with self._changed:
                if name is not None:
                    self._waiting.appendleft(name)
                    self._busy -= 1
                self._changed.notify_all()
            if not self._over:
                say(f"a helper process has ended ({error}); its monitors are done without it", style="yellow")

    def _next(self) -> str | None:
        with self._changed:
            if not self._waiting:
                return None
            self._busy += 1
            return self._waiting.popleft()
