"""Kills processes of a running deployment with SIGKILL, one every few seconds, as a seed says.

How many are killed goes by the epochs that are sealed, so that a slow machine comes to an end as well.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from signal import SIGKILL
from typing import NamedTuple

import psutil

from jobs.local.servers.process import Server

PAUSE = (2.0, 7.0)
"""Seconds between two kills, at least and at most."""
MOST_OF_A_SERVER = 5
"""A guard starts its server again so many times."""


class Kills(NamedTuple):
    """How many processes are killed, beside the first of each kind."""

    first: int
    """Before the first epoch is sealed."""
    each: int
    """For each epoch that is sealed."""


class Killer:
    """Kills in a thread of its own, until it is stopped."""

    def __init__(self, seed: int, kills: Kills, scheduler: Server, standby: Server, spark: Server) -> None:
        self.draw = random.Random(seed)
        self.kills = kills
        self.sealed = 0
        """Epochs that are sealed, as far as it was told."""
        self.guards = {"scheduler": scheduler, "stand-by": standby, "Spark server": spark}
        self.kinds: Mapping[str, Callable[[], list[psutil.Process]]] = {
            "task": lambda: below_workers(first_of(scheduler)),
            "copy of the stand-by": lambda: first_of(standby).children(),
            **{kind: lambda guard=guard: [first_of(guard)] for kind, guard in self.guards.items()},
        }  # fmt: skip
        self.killed: Counter[str] = Counter()
        self.killed_at: dict[str, int] = {}
        """Of each server, how many epochs were sealed when it was last killed: it is spared until there are more."""
        self.error: BaseException | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._stopped.wait(self.draw.uniform(*PAUSE)):
                more = self.killed.total() < self.kills.first + self.kills.each * self.sealed
                self._kill_one([kind for kind in self.kinds if more or not self.killed[kind]])
        except BaseException as error:
            self.error = error

    def _kill_one(self, kinds: Iterable[str]) -> None:
        """A process of a random kind, of which there is one; kinds of which none was killed yet go first."""
        for kind in sorted(kinds, key=lambda kind: (self.killed[kind] > 0, self.draw.random())):
            if kind in self.guards and not self._may_be_killed(kind):
                continue
            try:
                found = sorted(self.kinds[kind](), key=lambda process: (process.create_time(), process.pid))
                if not found:
                    continue
                victim = self.draw.choice(found)
                told = f"{kind} {victim.pid}: {' '.join(victim.cmdline())[:120]}"
                os.kill(victim.pid, SIGKILL)
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue  # it ended by itself while we looked
            print(f"{time.strftime('%X')} killed {told}", flush=True)
            self.killed[kind] += 1
            self.killed_at[kind] = self.sealed
            return

    def _may_be_killed(self, server: str) -> bool:
        return self.killed[server] < MOST_OF_A_SERVER and self.killed_at.get(server, -1) < self.sealed


def first_of(server: Server) -> psutil.Process:
    """The process that a guard has started; what it has adopted since is younger."""
    own = psutil.Process(server.guard.pid).children()
    if not own:
        raise psutil.NoSuchProcess(server.guard.pid)
    return min(own, key=lambda process: (process.create_time(), process.pid))


def below_workers(scheduler: psutil.Process) -> list[psutil.Process]:
    """A task's own process, and its command's. Airflow does not survive the loss of a worker that holds a lock."""
    return [process for worker in scheduler.children() for process in worker.children(recursive=True)]
