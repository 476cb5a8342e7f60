"""Every Delta table, declared once: columns, keys, engine, constraints.

The Arrow schema, the Spark DDL and the structural expectations all derive from these declarations. What tables and
columns mean, in words, stands in `table_words`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pyarrow as pa

from monitoring_lib.table_words import COLUMNS, TABLES_IN_WORDS

Engine = Literal["spark", "delta-rs"]


class Kind(StrEnum):
    """Types of columns, all of which both engines read alike."""

    STRING = "string"
    LONG = "bigint"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    BINARY = "binary"
    STRINGS = "array<string>"
    TEXTS = "map<string,string>"
    NUMBERS = "map<string,bigint>"

    @property
    def arrow(self) -> pa.DataType:
        return _ARROW[self]


_ARROW: Mapping[Kind, pa.DataType] = {
    Kind.STRING: pa.string(),
    Kind.LONG: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.DATE: pa.date32(),
    Kind.BINARY: pa.binary(),
    Kind.STRINGS: pa.list_(pa.string()),
    Kind.TEXTS: pa.map_(pa.string(), pa.string()),
    Kind.NUMBERS: pa.map_(pa.string(), pa.int64()),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column and what is always true of it."""

    kind: Kind
    nullable: bool = False
    least: float | None = None
    among: tuple[str, ...] = ()
    clock: bool = False
    """Whether it says when or by which write, not what: left out of digests of content."""


@dataclass(frozen=True, eq=False)
class Table:
    """One Delta table. `key` identifies a row among those of one write; `at_sites` says whose storage holds it."""

    name: str
    at_sites: bool
    key: tuple[str, ...]
    columns: Mapping[str, Column] = field(repr=False)
    partition: str | None = None
    by_seal: bool = False
    """Whether its rows count only where a seal names their write; those of other writes are dead in the end."""
    retention: int = 7 * 24
    """Hours for which dead rows, and files that the table no longer needs, are kept."""

    @property
    def description(self) -> str:
        """What a row of it is, in words."""
        return TABLES_IN_WORDS[self.name]

    def describe(self, column: str) -> str:
        """What a column holds, in words: those of this table, or the ones that it has in every table."""
        return COLUMNS.get(f"{self.name}.{column}") or COLUMNS[column]

    @property
    def engine(self) -> Engine:
        """Site tables are bulk and written by Spark; the coordinator's are small and need no JVM."""
        return "spark" if self.at_sites else "delta-rs"

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, column.kind.arrow, column.nullable) for name, column in self.columns.items()])

    @property
    def described_schema(self) -> pa.Schema:
        """The same with each column's words, as Delta keeps comments."""
        return pa.schema([each.with_metadata({"comment": self.describe(each.name)}) for each in self.schema])

    @property
    def ddl(self) -> str:
        """The columns as Spark's SQL spells them."""
        return ", ".join(
            f"{name} {column.kind}{'' if column.nullable else ' NOT NULL'}" for name, column in self.columns.items()
        )

    @property
    def described_ddl(self) -> str:
        """The same with each column's words."""
        texts = (self.describe(name).replace("\\", "\\\\").replace("'", "\\'") for name in self.columns)
        columns = self.ddl.split(", ")
        return ", ".join(f"{column} COMMENT '{text}'" for column, text in zip(columns, texts, strict=True))

    @property
    def content(self) -> list[str]:
        """The columns that make up what a row says."""
        return [name for name, column in self.columns.items() if not column.clock]


_string, _long, _time = Column(Kind.STRING), Column(Kind.LONG), Column(Kind.TIMESTAMP)
_count = Column(Kind.LONG, least=0)
_binary, _double = Column(Kind.BINARY), Column(Kind.DOUBLE)
_write = Column(Kind.STRING, clock=True)
_when = Column(Kind.TIMESTAMP, clock=True)
_day = Column(Kind.DATE)

LANDINGS = Table(
    "landings", at_sites=True, by_seal=True, key=("source", "path", "digest"),
    columns={
        "source": _string, "path": _string, "digest": _string, "bytes": _count,
        "modified": Column(Kind.TIMESTAMP, clock=True),
        "how": Column(Kind.STRING, among=("new", "same", "grown", "replaced", "again")), "begins": _string,
        "unpacked": _count, "records": _count,
        "read": _count, "landed": _count, "quarantined": _count, "late": _count, "epochs": Column(Kind.NUMBERS),
        "note": _string, "landed_at": _when, "write": _write,
    },
)  # fmt: skip
EVENTS = Table(
    "events", at_sites=True, by_seal=True, key=("source", "digest", "line"), partition="day",
    columns={
        "source": _string, "epoch_start": _time, "day": _day, "time": _time, "site": _string,
        "item": Column(Kind.STRING, nullable=True), "value": Column(Kind.LONG, nullable=True),
        "fields": Column(Kind.TEXTS, nullable=True), "values": Column(Kind.NUMBERS, nullable=True),
        "digest": _string, "line": _count, "write": _write,
    },
)  # fmt: skip
REFERENCES = Table(
    "references", at_sites=True, by_seal=True, key=("source", "digest", "path"),
    columns={
        "source": _string, "path": _string, "version": _string, "digest": _string, "bytes": _count,
        "modified": Column(Kind.TIMESTAMP, clock=True), "before": _count, "records": _count,
        "columns": Column(Kind.TEXTS), "parts": Column(Kind.TEXTS), "first_epoch": _time, "last_epoch": _time,
        "earliest": Column(Kind.TIMESTAMP, nullable=True), "latest": Column(Kind.TIMESTAMP, clock=True),
        "write": _write,
    },
)  # fmt: skip
QUARANTINE = Table(
    "quarantine", at_sites=True, by_seal=True, key=("source", "digest", "line"), partition="day",
    columns={
        "source": _string, "day": Column(Kind.DATE, clock=True), "path": _string, "digest": _string, "line": _count,
        "kind": _string, "value": Column(Kind.STRING, nullable=True),
        "reason": _string, "raw": Column(Kind.STRING, nullable=True),
        "time": Column(Kind.TIMESTAMP, nullable=True), "site": Column(Kind.STRING, nullable=True), "write": _write,
    },
)  # fmt: skip
SYNOPSES = Table(
    "synopses", at_sites=True, by_seal=True, key=("source", "summary", "epoch_start", "site"), partition="day",
    columns={
        "source": _string, "summary": _string, "epoch_start": _time, "day": _day, "site": _string,
        "events": _count, "refused": _count, "shipping": _count, "payload": _binary,
        "fault": Column(Kind.STRING, nullable=True), "write": _write,
    },
)  # fmt: skip
"""Of `events`, the summary could not take in `refused`. The exact counts of the cell would take `shipping` bytes:
those of the payload where it is exact, an estimate elsewhere. Where `fault` says why, there is no synopsis."""
SITE_STATES = Table(
    "site_states", at_sites=True, by_seal=True, key=("monitor", "method", "epoch_start", "site"), partition="day",
    columns={
        "monitor": _string, "method": _string, "epoch_start": _time, "day": _day, "site": _string,
        "form": Column(Kind.STRING, among=("base", "change")), "payload": _binary, "write": _write,
    },
)  # fmt: skip
_MESSAGE = {
    "monitor": _string, "method": _string, "epoch_start": _time, "round": _count, "sender": _string,
    "position": _count, "receivers": Column(Kind.STRINGS), "kind": _string, "reason": _string,
    "entries": _count, "bytes": _count, "payload": _binary,
}  # fmt: skip
_MESSAGE_KEY = ("monitor", "method", "epoch_start", "round", "sender", "position")
OUTBOX = Table(
    "outbox", at_sites=True, by_seal=True, key=_MESSAGE_KEY, partition="day",
    columns={**_MESSAGE, "day": _day, "write": _write},
)  # fmt: skip
MESSAGES = Table("messages", at_sites=False, by_seal=True, key=_MESSAGE_KEY, columns={**_MESSAGE, "write": _write})
STATES = Table(
    "states", at_sites=False, by_seal=True, key=("monitor", "method", "epoch_start", "node"),
    columns={
        "monitor": _string, "method": _string, "epoch_start": _time, "node": _string,
        "form": Column(Kind.STRING, among=("base", "change")), "payload": _binary, "write": _write,
    },
)  # fmt: skip
ROSTERS = Table(
    "rosters", at_sites=False, by_seal=True, key=("monitor", "epoch_start", "site"),
    columns={
        "monitor": _string, "epoch_start": _time, "position": _count, "site": _string,
        "placements": Column(Kind.TEXTS), "write": _write,
    },
)  # fmt: skip
ARRIVALS = Table(
    "arrivals",
    at_sites=False,
    by_seal=True,
    key=("source", "epoch_start", "site"),
    columns={
        "source": _string,
        "epoch_start": _time,
        "site": _string,
        "events": _count,
        "buckets": Column(Kind.NUMBERS, nullable=True),
        "write": _write,
    },
)  # fmt: skip
PLANS = Table(
    "plans",
    at_sites=False,
    by_seal=True,
    key=("monitor", "epoch_start"),
    columns={"monitor": _string, "epoch_start": _time, "content": _string, "write": _write},
)
CURSORS = Table(
    "cursors",
    at_sites=False,
    by_seal=True,
    key=("monitor", "epoch_start"),
    columns={"monitor": _string, "epoch_start": _time, "content": _string, "write": _write},
)
_ANSWER = {
    "monitor": _string, "method": _string, "epoch_start": _time, "node": _string, "tick": _time, "key": _string,
    "rank": Column(Kind.LONG, nullable=True, least=1), "estimate": _double, "low": _double, "high": _double,
    "confidence": Column(Kind.DOUBLE, least=0), "partial": Column(Kind.BOOLEAN),
}  # fmt: skip
_ANSWER_KEY = ("monitor", "method", "epoch_start", "node", "tick", "key")
DRAFTS = Table("drafts", at_sites=False, by_seal=True, key=_ANSWER_KEY, columns={**_ANSWER, "write": _write})
ANSWERS = Table(
    "answers", at_sites=False, key=(*_ANSWER_KEY, "revision"),
    columns={**_ANSWER, "revision": _count, "write": _write},
)  # fmt: skip
VERDICTS = Table(
    "verdicts", at_sites=False, key=(*_ANSWER_KEY, "revision", "promise"),
    columns={
        "monitor": _string, "method": _string, "epoch_start": _time, "node": _string, "tick": _time,
        "key": _string, "revision": _count, "promise": _string, "exact": _double, "error": _double,
        "allowed": _double, "kept": Column(Kind.BOOLEAN), "confidence": Column(Kind.DOUBLE, least=0), "write": _write,
    },
)  # fmt: skip
AUDITS = Table(
    "audits", at_sites=False, key=("source", "monitor", "epoch_start", "audited_at"),
    columns={
        "source": _string, "monitor": _string, "epoch_start": _time, "revision": _count, "seal": _string,
        "verdicts": _count, "broken": _count, "damaged": _count, "audited_at": _when, "write": _write,
    },
)  # fmt: skip
COMPARISONS = Table(
    "comparisons", at_sites=False, key=("monitor", "compared_at", "position"),
    columns={
        "monitor": _string, "position": _count, "variant": _string, "configured": Column(Kind.BOOLEAN),
        "promise": _string, "epochs": _count, "first_epoch": _time, "last_end": _time,
        "bytes_a_day": Column(Kind.DOUBLE, least=0), "messages_a_day": Column(Kind.DOUBLE, least=0),
        "shipping_a_day": Column(Kind.DOUBLE, least=0), "width": Column(Kind.DOUBLE, least=0),
        "widest": Column(Kind.DOUBLE, least=0), "advice": _string, "compared_at": _when, "write": _write,
    },
)  # fmt: skip
VALIDATIONS = Table(
    "validations", at_sites=False, key=("source", "monitor", "epoch_start", "step", "expectation", "site"),
    columns={
        "source": _string, "monitor": _string, "epoch_start": _time,
        "step": Column(Kind.STRING, among=("land", "gate", "validate", "audit")),
        "expectation": _string, "site": _string, "severity": Column(Kind.STRING, among=("info", "warning", "critical")),
        "success": Column(Kind.BOOLEAN), "observed": _string, "detail": _string, "checked_at": _when, "write": _write,
    },
)  # fmt: skip
ALERTS = Table(
    "alerts", at_sites=False, key=("digest",),
    columns={
        "digest": _string, "source": _string, "monitor": _string, "site": _string, "kind": _string, "about": _string,
        "state": Column(Kind.STRING, among=("opened", "reminded", "closed")), "turn": _count, "epoch_start": _time,
        "severity": Column(Kind.STRING, among=("warning", "critical")), "subject": _string, "detail": _string,
        "sinks": Column(Kind.STRINGS), "raised_at": _when, "write": _write,
    },
)  # fmt: skip
DELIVERIES = Table(
    "deliveries", at_sites=False, key=("digest", "sink"),
    columns={"digest": _string, "source": _string, "sink": _string, "delivered_at": _when, "write": _write},
)  # fmt: skip
DECISIONS = Table(
    "decisions", at_sites=False, key=("source", "epoch_start", "site", "decided_at"),
    columns={
        "source": _string, "epoch_start": _time, "site": _string,
        "verdict": Column(Kind.STRING, among=("admitted", "rejected", "retired")), "reason": _string,
        "decided_at": _when, "write": _write,
    },
)  # fmt: skip
WRITES = Table(
    "writes", at_sites=False, by_seal=True, key=("write", "table", "owner", "method", "epoch_start"),
    columns={
        "source": _string, "owner": _string, "method": _string, "epoch_start": _time, "step": _string, "table": _string,
        "rows": _count, "bytes": _count, "shipping": _count, "digest": _string, "finished_at": _when, "write": _write,
    },
)  # fmt: skip
EPOCHS = Table(
    "epochs", at_sites=False, key=("source", "monitor", "epoch_start", "revision"),
    columns={
        "source": _string, "monitor": _string, "epoch_start": _time, "revision": _count,
        "writes": Column(Kind.TEXTS, clock=True), "digests": Column(Kind.TEXTS), "missing_sites": Column(Kind.STRINGS),
        "joined_sites": Column(Kind.STRINGS),
        "parent": _string, "digest": _string, "landing": Column(Kind.LONG, least=0, clock=True),
        "code_version": Column(Kind.STRING, clock=True),
        "config_digest": _string, "config": _string, "counts": Column(Kind.NUMBERS),
        "times": Column(Kind.NUMBERS, clock=True), "reason": _string, "sealed_at": _when,
        "version": Column(Kind.LONG, least=0, clock=True), "checked": Column(Kind.LONG, least=0, clock=True),
        "write": _write,
    },
)  # fmt: skip

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        LANDINGS, EVENTS, REFERENCES, QUARANTINE, SYNOPSES, SITE_STATES, OUTBOX,
        ARRIVALS, PLANS, ROSTERS, MESSAGES, STATES, CURSORS, DRAFTS, ANSWERS,
        VERDICTS, AUDITS, COMPARISONS, VALIDATIONS, DECISIONS, ALERTS, DELIVERIES, WRITES, EPOCHS,
    )
}  # fmt: skip
