"""Step 8, alert: what needs a person goes to the table and the sinks, once. Runs whatever happened before."""

from __future__ import annotations

import hashlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from deltalake import DeltaTable

from jobs.chain import first_unsealed
from jobs.context import Context
from jobs.handover import Handover
from jobs.lake import new_write
from jobs.lake.store import scan
from jobs.report import say
from monitoring_lib.epochs import format_time, to_datetime, to_microseconds
from monitoring_lib.tables import ALERTS, VALIDATIONS

_PATIENCE = 10.0
_RECENT = 24 * 3600 * 1_000_000
_CHECKS = ("gate", "validations")
"""The outputs of a run that are findings."""


@dataclass(frozen=True)
class Alert:
    source: str
    monitor: str
    epoch_start: int
    severity: Literal["warning", "critical"]
    subject: str
    detail: str

    @property
    def digest(self) -> str:
        """The same for the same trouble, so that a retry or a second run does not raise it again."""
        content = [self.source, self.monitor, self.epoch_start, self.severity, self.subject]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    @property
    def text(self) -> str:
        whose = self.monitor or self.source
        return f"{self.severity}: {whose}, epoch {format_time(self.epoch_start)}: {self.subject}. {self.detail}"


def alert(context: Context, handover: Handover) -> None:
    """Collects failed expectations of this run and monitors that are not sealed; tells only what is new."""
    with handover.timed("alert"):
        alerts = {one.digest: one for one in [*_failed_checks(context, handover), *_unsealed(context, handover)]}
        new = _store_new(context, list(alerts.values()))
        for one in new:
            for sink in context.config.settings.alerts.sinks:
                _send(context, sink, one)


def _failed_checks(context: Context, handover: Handover) -> list[Alert]:
    """Findings that did not succeed, of this run and of the seals in its interval, and the last day's of landings.

    A run that was killed between its seal and its alert has left its findings to the next one, which finds
    everything sealed and checks nothing anew.
    """
    writes = {handover.writes[name] for name in _CHECKS if name in handover.writes} | {
        seal.writes[name]
        for monitor in context.config.monitors_of(handover.source)
        for seal in context.lake.ledger.seals(handover.source, monitor.name, handover.start, handover.end)
        for name in _CHECKS
        if name in seal.writes
    }
    rows = context.lake.centre.read(
        VALIDATIONS,
        [
            ("source", "=", handover.source),
            ("epoch_start", ">=", handover.start),
            ("epoch_start", "<", handover.end),
        ],
    ).to_pylist()
    since = int(time.time() * 1_000_000) - _RECENT
    rows += [
        row
        for row in context.lake.centre.read(
            VALIDATIONS, [("source", "=", handover.source), ("step", "=", "land")]
        ).to_pylist()
        if to_microseconds(row["checked_at"]) >= since
    ]
    return [
        Alert(
            handover.source, row["monitor"], to_microseconds(row["epoch_start"]), row["severity"],
            _subject(row),
            "; ".join(filter(None, [row["observed"], row["detail"]])),
        )
        for row in rows
        if not row["success"] and row["severity"] != "info" and (row["write"] in writes or row["step"] == "land")
    ]  # fmt: skip


def _subject(row: dict[str, Any]) -> str:
    if row["step"] == "land":
        return f"{row['observed']} is not landed"
    return f"{row['expectation']} does not hold" + (f" at site {row['site']!r}" if row["site"] else "")


def _unsealed(context: Context, handover: Handover) -> list[Alert]:
    """Monitors that should be sealed up to the interval's end and are not."""
    source = context.config.source(handover.source)
    alerts = []
    for monitor in context.config.monitors_of(source.name):
        if handover.only and monitor.name not in handover.only:
            continue
        first = first_unsealed(context, source, monitor, handover.start, handover.end)
        if first is not None:
            detail = handover.failed.get(monitor.name) or "the run did not get that far; its log says why"
            alerts.append(Alert(source.name, monitor.name, first, "critical", "the epoch is not sealed", detail))
    return alerts


def _store_new(context: Context, alerts: Sequence[Alert]) -> list[Alert]:
    """Appends the alerts that the table does not hold yet, and gives them back."""
    new: list[Alert] = []
    write = new_write("alert")

    def decide(table: DeltaTable) -> pa.Table | None:
        known = set(scan(table, ALERTS, [], ["digest"])["digest"].to_pylist())
        new[:] = [one for one in alerts if one.digest not in known]
        now = datetime.now(UTC)
        rows = [
            {
                "digest": one.digest, "source": one.source, "monitor": one.monitor,
                "epoch_start": to_datetime(one.epoch_start), "severity": one.severity, "subject": one.subject,
                "detail": one.detail, "raised_at": now, "write": write,
            }
            for one in new
        ]  # fmt: skip
        return pa.Table.from_pylist(rows, ALERTS.schema) if rows else None

    if alerts:
        context.lake.centre.append_if(ALERTS, decide)
    return new


def _send(context: Context, sink: str, one: Alert) -> None:
    """A sink that cannot be reached is named in the log; the alert stands in the table all the same."""
    try:
        if sink == "log":
            say(one.text, style="red" if one.severity == "critical" else "yellow")
        elif sink.startswith("file:"):
            path = Path(context.place(sink.removeprefix("file:")))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one.__dict__, ensure_ascii=False) + "\n")
        else:
            body = json.dumps(one.__dict__ | {"text": one.text}).encode()
            request = urllib.request.Request(sink, body, {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=_PATIENCE).close()
    except (OSError, urllib.error.URLError) as error:
        say(f"the sink {sink} could not be told ({error}): {one.text}", style="red")
