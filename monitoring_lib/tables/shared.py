"""Columns that many tables have, and those that the messages of both sides have."""

from __future__ import annotations

from monitoring_lib.tables.declaration import Column, Kind

STRING, TIME, DOUBLE, BINARY = Column(Kind.STRING), Column(Kind.TIMESTAMP), Column(Kind.DOUBLE), Column(Kind.BINARY)
COUNT = Column(Kind.LONG, least=0)
WRITE = Column(Kind.STRING, clock=True)
WHEN = Column(Kind.TIMESTAMP, clock=True)

MESSAGE = {
    "monitor": STRING, "method": STRING, "epoch_start": TIME, "round": COUNT, "sender": STRING,
    "position": COUNT, "receivers": Column(Kind.STRINGS), "kind": STRING, "reason": STRING,
    "entries": COUNT, "bytes": COUNT, "payload": BINARY,
}  # fmt: skip
MESSAGE_KEY = ("monitor", "method", "epoch_start", "round", "sender", "position")
