"""When something opens, closes, or is still open and told again: rows of the table `alerts`, each told once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from jobs.alerting.troubles import Key, Look, Trouble
from jobs.lake import Lake, new_write
from jobs.lake.store import scan
from monitoring_lib.epochs import to_datetime, to_microseconds
from monitoring_lib.tables import ALERTS

_OPEN = ("opened", "reminded")


@dataclass
class AlertHistory:
    """The last row of every trouble of a source, and the digests of all rows."""

    last: dict[Key, dict[str, Any]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    openings: dict[Key, int] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[dict[str, Any]]) -> AlertHistory:
        found = cls()
        for row in sorted(rows, key=lambda row: (row["raised_at"], row["turn"])):
            found.take(row)
        return found

    def take(self, row: dict[str, Any]) -> None:
        key = row["monitor"], row["site"], row["kind"], row["about"]
        self.last[key] = row
        self.told.add(row["digest"])
        if row["state"] == "opened":
            self.openings[key] = self.openings.get(key, 0) + 1

    def is_open(self, key: Key) -> bool:
        return key in self.last and self.last[key]["state"] in _OPEN


@dataclass
class AlertTurns:
    """The rows that looks at a source, one after the other, make of what is open."""

    source: str
    standing: AlertHistory
    sinks: Sequence[str]
    remind: int
    write: str
    now: datetime
    rows: list[dict[str, Any]] = field(default_factory=list)

    def take(self, look: Look) -> None:
        """Opens what is new, closes what is over."""
        found = {trouble.key: trouble for trouble in look.troubles}
        for key, trouble in found.items():
            if not self.standing.is_open(key) and not self._older(key, look):
                self._turn("opened", trouble, look.epoch_start)
        for key in [key for key in self.standing.last if self.standing.is_open(key)]:
            if key not in found and look.covers(key) and not self._older(key, look):
                self._turn("closed", self._again(key), look.epoch_start)

    def remind_of(self, looks: Iterable[Look]) -> None:
        """Tells again what is still open and was last told long enough ago."""
        still = {trouble.key: trouble for look in looks for trouble in look.troubles}
        for key, trouble in still.items():
            row = self.standing.last.get(key)
            if not self.remind or row is None or row["state"] not in _OPEN:
                continue
            if to_microseconds(self.now) - to_microseconds(row["raised_at"]) >= self.remind:
                self._turn("reminded", trouble, None)

    def _older(self, key: Key, look: Look) -> bool:
        row = self.standing.last.get(key)
        if row is None or look.epoch_start is None:
            return False
        return look.epoch_start < to_microseconds(row["epoch_start"])

    def _again(self, key: Key) -> Trouble:
        row = self.standing.last[key]
        return Trouble(
            row["kind"], to_microseconds(row["epoch_start"]), row["severity"], row["subject"], row["detail"],
            row["monitor"], row["site"], row["about"],
        )  # fmt: skip

    def _turn(self, state: str, trouble: Trouble, epoch_start: int | None) -> None:
        # What speaks of an epoch happens once in it; what speaks of now is counted.
        if state == "reminded":
            which: object = to_microseconds(self.now)
        elif epoch_start is None:
            which = self.standing.openings.get(trouble.key, 0) + (state == "opened")
        else:
            which = f"epoch {epoch_start}"
        digest = _digest([self.source, *trouble.key, state, which])
        at = trouble.epoch_start if state != "closed" or epoch_start is None else epoch_start
        row = {
            "digest": digest, "source": self.source, "monitor": trouble.monitor, "site": trouble.site,
            "kind": trouble.kind, "about": trouble.about, "state": state, "turn": len(self.rows),
            "epoch_start": to_datetime(at), "severity": trouble.severity, "subject": trouble.subject,
            "detail": trouble.detail if state != "closed" else "it is over", "sinks": list(self.sinks),
            "raised_at": self.now, "write": self.write,
        }  # fmt: skip
        if digest not in self.standing.told:
            self.rows.append(row)
        self.standing.take(row)


def _digest(content: list[object]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def store(lake: Lake, source: str, looks: Sequence[Look], sinks: Sequence[str], remind: int) -> list[dict[str, Any]]:
    """Appends what the looks change, in one commit; gives those rows back."""
    made: list[dict[str, Any]] = []
    write = new_write("alert")

    def decide(table: DeltaTable) -> pa.Table | None:
        known = scan(table, ALERTS, [("source", "=", source)], list(ALERTS.columns)).to_pylist()
        turns = AlertTurns(source, AlertHistory.of(known), sinks, remind, write, datetime.now(UTC))
        for look in looks:
            turns.take(look)
        turns.remind_of(looks)
        made[:] = turns.rows
        return pa.Table.from_pylist(turns.rows, ALERTS.schema) if turns.rows else None

    if looks:
        lake.centre.append_if(ALERTS, decide)
    return made
