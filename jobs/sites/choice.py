"""Where the sites' side of an epoch runs: in Spark's tasks, or in this process where it is small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.inputs import summary_name
from jobs.epoch.monitor_run import MonitorRun
from jobs.lake.records import recorded_once
from monitoring_lib.methods import Method

_SMALL_EPOCH = 4_000_000
_SMALL_RANGE = 256_000_000
_SMALL_STATES = 64_000_000
_LARGE_IMAGE = 500_000
"""From so many bytes on a synopsis is taken in as columns, several times as fast as names one by one."""


@dataclass
class Places:
    """Decides by the configuration's wish, or by the bytes that were recorded of a step's writes."""

    context: Context
    handover: Handover

    def observes_in_spark(self, run: MonitorRun, method: Method) -> bool:
        """Whether the sites observe in Spark's tasks: where what arrives, or what they remember, is large."""
        wish = self.context.config.settings.sites_run
        small = wish == "process" or (
            wish == "auto" and self._arrives_little(run, method) and _remembers_little(run, _past_bytes(run))
        )
        return not small

    def asks_spark(self, run: MonitorRun, method: Method, observed: str) -> bool:
        """Whether sites that have observed the first epoch, under `observed`, are asked in Spark's tasks.

        Of a single epoch that needs their states alone, so they may be asked here though what arrived was large.
        """
        wish = self.context.config.settings.sites_run
        if wish != "auto":
            return wish == "spark"
        arrives_little = len(run.numbers) == 1 or self._arrives_little(run, method)
        return not (arrives_little and _remembers_little(run, self.state_bytes(run, observed)))

    def state_bytes(self, run: MonitorRun, observed: str) -> int:
        """Of the rows that states are restored from, with those under `observed`, which are not sealed yet."""
        new: int = sum(row["bytes"] for row in self._recorded(observed, "site_states", run.monitor.name))
        return _past_bytes(run) + new

    def _arrives_little(self, run: MonitorRun, method: Method) -> bool:
        """By the bytes of the synopses that the method takes in."""
        epochs = self._recorded(run.synopses, "synopses", summary_name(run, method))
        return all(map(_is_light, epochs)) and sum(row["bytes"] for row in epochs) <= _SMALL_RANGE

    def _recorded(self, write: str, output: str, owner: str) -> list[dict[str, Any]]:
        records = recorded_once(self.context.lake, write, self.handover.span).items()
        return [row for part, row in records if (part.output, part.owner) == (output, owner)]


def _is_light(epoch: Mapping[str, Any]) -> bool:
    """Whether one process takes in an epoch's synopses sooner than a Spark job would."""
    in_columns = epoch["bytes"] >= epoch["rows"] * _LARGE_IMAGE
    return bool(epoch["bytes"] <= _SMALL_EPOCH * (6 if in_columns else 1))


def _remembers_little(run: MonitorRun, state_bytes: int) -> bool:
    """In a process a range restores its states once; in Spark's tasks every epoch and round restores them anew."""
    return state_bytes <= (_SMALL_STATES if len(run.numbers) == 1 else _SMALL_RANGE)


def _past_bytes(run: MonitorRun) -> int:
    return sum(past.state_bytes for past in run.plan.past.values())
