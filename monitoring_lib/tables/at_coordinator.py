"""The tables of the coordinator: small, written by delta-rs without a JVM."""

from __future__ import annotations

from monitoring_lib.tables.declaration import Column, Kind, Table
from monitoring_lib.tables.shared import BINARY, COUNT, DOUBLE, MESSAGE, MESSAGE_KEY, STRING, TIME, WHEN, WRITE

MESSAGES = Table("messages", at_sites=False, by_seal=True, key=MESSAGE_KEY, columns={**MESSAGE, "write": WRITE})
STATES = Table(
    "states", at_sites=False, by_seal=True, key=("monitor", "method", "epoch_start", "node"),
    columns={
        "monitor": STRING, "method": STRING, "epoch_start": TIME, "node": STRING,
        "form": Column(Kind.STRING, among=("base", "change")), "payload": BINARY, "write": WRITE,
    },
)  # fmt: skip
ROSTERS = Table(
    "rosters", at_sites=False, by_seal=True, key=("monitor", "epoch_start", "site"),
    columns={
        "monitor": STRING, "epoch_start": TIME, "position": COUNT, "site": STRING,
        "placements": Column(Kind.TEXTS), "write": WRITE,
    },
)  # fmt: skip
ARRIVALS = Table(
    "arrivals",
    at_sites=False,
    by_seal=True,
    key=("source", "epoch_start", "site"),
    columns={
        "source": STRING,
        "epoch_start": TIME,
        "site": STRING,
        "events": COUNT,
        "buckets": Column(Kind.NUMBERS, nullable=True),
        "write": WRITE,
    },
)  # fmt: skip
PLANS = Table(
    "plans",
    at_sites=False,
    by_seal=True,
    key=("monitor", "epoch_start"),
    columns={"monitor": STRING, "epoch_start": TIME, "content": STRING, "write": WRITE},
)
CURSORS = Table(
    "cursors",
    at_sites=False,
    by_seal=True,
    key=("monitor", "epoch_start"),
    columns={"monitor": STRING, "epoch_start": TIME, "content": STRING, "write": WRITE},
)
_ANSWER = {
    "monitor": STRING, "method": STRING, "epoch_start": TIME, "node": STRING, "tick": TIME, "key": STRING,
    "rank": Column(Kind.LONG, nullable=True, least=1), "estimate": DOUBLE, "low": DOUBLE, "high": DOUBLE,
    "confidence": Column(Kind.DOUBLE, least=0), "partial": Column(Kind.BOOLEAN),
}  # fmt: skip
_ANSWER_KEY = ("monitor", "method", "epoch_start", "node", "tick", "key")
DRAFTS = Table("drafts", at_sites=False, by_seal=True, key=_ANSWER_KEY, columns={**_ANSWER, "write": WRITE})
ANSWERS = Table(
    "answers", at_sites=False, key=(*_ANSWER_KEY, "revision"),
    columns={**_ANSWER, "revision": COUNT, "write": WRITE},
)  # fmt: skip
VERDICTS = Table(
    "verdicts", at_sites=False, key=(*_ANSWER_KEY, "revision", "promise"),
    columns={
        "monitor": STRING, "method": STRING, "epoch_start": TIME, "node": STRING, "tick": TIME,
        "key": STRING, "revision": COUNT, "promise": STRING, "exact": DOUBLE, "error": DOUBLE,
        "allowed": DOUBLE, "kept": Column(Kind.BOOLEAN), "confidence": Column(Kind.DOUBLE, least=0), "write": WRITE,
    },
)  # fmt: skip
AUDITS = Table(
    "audits", at_sites=False, key=("source", "monitor", "epoch_start", "audited_at"),
    columns={
        "source": STRING, "monitor": STRING, "epoch_start": TIME, "revision": COUNT, "seal": STRING,
        "verdicts": COUNT, "broken": COUNT, "damaged": COUNT, "audited_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
COMPARISONS = Table(
    "comparisons", at_sites=False, key=("monitor", "compared_at", "position"),
    columns={
        "monitor": STRING, "position": COUNT, "variant": STRING, "configured": Column(Kind.BOOLEAN),
        "promise": STRING, "epochs": COUNT, "first_epoch": TIME, "last_end": TIME,
        "bytes_a_day": Column(Kind.DOUBLE, least=0), "messages_a_day": Column(Kind.DOUBLE, least=0),
        "shipping_a_day": Column(Kind.DOUBLE, least=0), "width": Column(Kind.DOUBLE, least=0),
        "widest": Column(Kind.DOUBLE, least=0), "advice": STRING, "compared_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
VALIDATIONS = Table(
    "validations", at_sites=False, key=("source", "monitor", "epoch_start", "step", "expectation", "site"),
    columns={
        "source": STRING, "monitor": STRING, "epoch_start": TIME,
        "step": Column(Kind.STRING, among=("land", "gate", "validate", "audit")),
        "expectation": STRING, "site": STRING, "severity": Column(Kind.STRING, among=("info", "warning", "critical")),
        "success": Column(Kind.BOOLEAN), "observed": STRING, "detail": STRING, "checked_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
ALERTS = Table(
    "alerts", at_sites=False, key=("digest",),
    columns={
        "digest": STRING, "source": STRING, "monitor": STRING, "site": STRING, "kind": STRING, "about": STRING,
        "state": Column(Kind.STRING, among=("opened", "reminded", "closed")), "turn": COUNT, "epoch_start": TIME,
        "severity": Column(Kind.STRING, among=("warning", "critical")), "subject": STRING, "detail": STRING,
        "sinks": Column(Kind.STRINGS), "raised_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
DELIVERIES = Table(
    "deliveries", at_sites=False, key=("digest", "sink"),
    columns={"digest": STRING, "source": STRING, "sink": STRING, "delivered_at": WHEN, "write": WRITE},
)  # fmt: skip
DECISIONS = Table(
    "decisions", at_sites=False, key=("source", "epoch_start", "site", "decided_at"),
    columns={
        "source": STRING, "epoch_start": TIME, "site": STRING,
        "verdict": Column(Kind.STRING, among=("admitted", "rejected", "retired")), "reason": STRING,
        "decided_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
WRITES = Table(
    "writes", at_sites=False, by_seal=True, key=("write", "table", "owner", "method", "epoch_start"),
    columns={
        "source": STRING, "owner": STRING, "method": STRING, "epoch_start": TIME, "step": STRING, "table": STRING,
        "rows": COUNT, "bytes": COUNT, "shipping": COUNT, "digest": STRING, "finished_at": WHEN, "write": WRITE,
    },
)  # fmt: skip
EPOCHS = Table(
    "epochs", at_sites=False, key=("source", "monitor", "epoch_start", "revision"),
    columns={
        "source": STRING, "monitor": STRING, "epoch_start": TIME, "revision": COUNT,
        "writes": Column(Kind.TEXTS, clock=True), "digests": Column(Kind.TEXTS), "missing_sites": Column(Kind.STRINGS),
        "joined_sites": Column(Kind.STRINGS),
        "parent": STRING, "digest": STRING, "landing": Column(Kind.LONG, least=0, clock=True),
        "code_version": Column(Kind.STRING, clock=True),
        "config_digest": STRING, "config": STRING, "counts": Column(Kind.NUMBERS),
        "times": Column(Kind.NUMBERS, clock=True), "reason": STRING,
        "run": Column(Kind.STRING, clock=True), "sealed_at": WHEN,
        "version": Column(Kind.LONG, least=0, clock=True), "checked": Column(Kind.LONG, least=0, clock=True),
        "write": WRITE,
    },
)  # fmt: skip
