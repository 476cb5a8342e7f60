"""Every Delta table, declared once: columns, keys, engine, constraints.

The Arrow schema, the Spark DDL, the structural expectations and the page docs/tables.md all derive from these
declarations.
"""

from __future__ import annotations

from collections.abc import Mapping

from monitoring_lib.tables.at_coordinator import (
    ALERTS,
    ANSWERS,
    ARRIVALS,
    AUDITS,
    COMPARISONS,
    CURSORS,
    DECISIONS,
    DELIVERIES,
    DRAFTS,
    EPOCHS,
    MESSAGES,
    PLANS,
    ROSTERS,
    STATES,
    VALIDATIONS,
    VERDICTS,
    WRITES,
)
from monitoring_lib.tables.at_sites import EVENTS, LANDINGS, OUTBOX, QUARANTINE, REFERENCES, SITE_STATES, SYNOPSES
from monitoring_lib.tables.declaration import Column, Kind, Table

__all__ = [
    "ALERTS",
    "ANSWERS",
    "ARRIVALS",
    "AUDITS",
    "COMPARISONS",
    "CURSORS",
    "DECISIONS",
    "DELIVERIES",
    "DRAFTS",
    "EPOCHS",
    "EVENTS",
    "LANDINGS",
    "MESSAGES",
    "OUTBOX",
    "PLANS",
    "QUARANTINE",
    "REFERENCES",
    "ROSTERS",
    "SITE_STATES",
    "STATES",
    "SYNOPSES",
    "TABLES",
    "VALIDATIONS",
    "VERDICTS",
    "WRITES",
    "Column",
    "Kind",
    "Table",
]

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        LANDINGS, EVENTS, REFERENCES, QUARANTINE, SYNOPSES, SITE_STATES, OUTBOX,
        ARRIVALS, PLANS, ROSTERS, MESSAGES, STATES, CURSORS, DRAFTS, ANSWERS,
        VERDICTS, AUDITS, COMPARISONS, VALIDATIONS, DECISIONS, ALERTS, DELIVERIES, WRITES, EPOCHS,
    )
}  # fmt: skip
