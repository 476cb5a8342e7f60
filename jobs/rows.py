"""Messages and answers as rows of their tables, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from jobs.lake import column_list
from monitoring_lib.epochs import Clock, to_datetime
from monitoring_lib.methods import Answer
from monitoring_lib.network import Message

_FIELDS = ("round", "sender", "position", "receiver", "kind", "reason", "entries", "payload")


def message_row(message: Message, clock: Clock, monitor: str, method: str, write: str) -> dict[str, Any]:
    return {name: getattr(message, name) for name in _FIELDS} | {
        "monitor": monitor, "method": method, "epoch_start": to_datetime(clock.start_of(message.epoch)),
        "bytes": message.bytes, "write": write,
    }  # fmt: skip


def messages_of(rows: pa.Table, clock: Clock) -> list[Message]:
    """The messages of one monitor and method, in order of delivery."""
    epochs = [clock.epoch_of(start) for start in column_list(rows, "epoch_start")]
    columns = [rows[name].to_pylist() for name in _FIELDS]
    return sorted(Message(*row) for row in zip(epochs, *columns, strict=True))


def answer_rows(
    answers: Iterable[Answer], epoch_start: int, monitor: str, method: str, write: str
) -> list[dict[str, Any]]:
    return [
        {
            "monitor": monitor, "method": method, "epoch_start": to_datetime(epoch_start), "node": row.node,
            "tick": to_datetime(row.tick), "key": row.key, "rank": row.rank, "estimate": row.estimate,
            "low": row.low, "high": row.high, "confidence": row.confidence, "write": write,
        }
        for row in answers
    ]  # fmt: skip
