"""The tables of the sites: bulk, written by Spark."""

from __future__ import annotations

from monitoring_lib.tables.declaration import Column, Kind, Table
from monitoring_lib.tables.shared import BINARY, COUNT, MESSAGE, MESSAGE_KEY, STRING, TIME, WHEN, WRITE

DAY = Column(Kind.DATE)

LANDINGS = Table(
    "landings", at_sites=True, by_seal=True, key=("source", "path", "digest"),
    columns={
        "source": STRING, "path": STRING, "digest": STRING, "bytes": COUNT,
        "modified": Column(Kind.TIMESTAMP, clock=True),
        "how": Column(Kind.STRING, among=("new", "same", "grown", "replaced", "again")), "begins": STRING,
        "unpacked": COUNT, "records": COUNT,
        "read": COUNT, "landed": COUNT, "quarantined": COUNT, "late": COUNT, "epochs": Column(Kind.NUMBERS),
        "note": STRING, "landed_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
EVENTS = Table(
    "events", at_sites=True, by_seal=True, key=("source", "digest", "line"), partition="day",
    columns={
        "source": STRING, "epoch_start": TIME, "day": DAY, "time": TIME, "site": STRING,
        "item": Column(Kind.STRING, nullable=True), "value": Column(Kind.LONG, nullable=True),
        "fields": Column(Kind.TEXTS, nullable=True), "values": Column(Kind.NUMBERS, nullable=True),
        "digest": STRING, "line": COUNT, "write": WRITE,
    },
)  # fmt: skip
REFERENCES = Table(
    "references", at_sites=True, by_seal=True, key=("source", "digest", "path"),
    columns={
        "source": STRING, "path": STRING, "version": STRING, "digest": STRING, "bytes": COUNT,
        "modified": Column(Kind.TIMESTAMP, clock=True), "before": COUNT, "records": COUNT,
        "columns": Column(Kind.TEXTS), "parts": Column(Kind.TEXTS), "first_epoch": TIME, "last_epoch": TIME,
        "earliest": Column(Kind.TIMESTAMP, nullable=True), "latest": Column(Kind.TIMESTAMP, clock=True),
        "write": WRITE,
    },
)  # fmt: skip
QUARANTINE = Table(
    "quarantine", at_sites=True, by_seal=True, key=("source", "digest", "line"), partition="day",
    columns={
        "source": STRING, "day": Column(Kind.DATE, clock=True), "path": STRING, "digest": STRING, "line": COUNT,
        "kind": STRING, "value": Column(Kind.STRING, nullable=True),
        "reason": STRING, "raw": Column(Kind.STRING, nullable=True),
        "time": Column(Kind.TIMESTAMP, nullable=True), "site": Column(Kind.STRING, nullable=True), "write": WRITE,
    },
)  # fmt: skip
SYNOPSES = Table(
    "synopses", at_sites=True, by_seal=True, key=("source", "summary", "epoch_start", "site"), partition="day",
    columns={
        "source": STRING, "summary": STRING, "epoch_start": TIME, "day": DAY, "site": STRING,
        "events": COUNT, "refused": COUNT, "shipping": COUNT, "payload": BINARY,
        "fault": Column(Kind.STRING, nullable=True), "write": WRITE,
    },
)  # fmt: skip
"""Of `events`, the summary could not take in `refused`. The exact counts of the cell would take `shipping` bytes:
those of the payload where it is exact, an estimate elsewhere. Where `fault` says why, there is no synopsis."""
SITE_STATES = Table(
    "site_states", at_sites=True, by_seal=True, key=("monitor", "method", "epoch_start", "site"), partition="day",
    columns={
        "monitor": STRING, "method": STRING, "epoch_start": TIME, "day": DAY, "site": STRING,
        "form": Column(Kind.STRING, among=("base", "change")), "payload": BINARY, "write": WRITE,
    },
)  # fmt: skip
OUTBOX = Table(
    "outbox", at_sites=True, by_seal=True, key=MESSAGE_KEY, partition="day",
    columns={**MESSAGE, "day": DAY, "write": WRITE},
)  # fmt: skip
