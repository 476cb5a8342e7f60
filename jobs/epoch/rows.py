"""Messages, answers, states and rosters as rows of their tables, in columns, and messages back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from jobs.epoch.cursor import Cursor, Member
from jobs.lake.times import column_list
from monitoring_lib.answers import Answers
from monitoring_lib.epochs import Clock, to_datetime
from monitoring_lib.network import Message
from monitoring_lib.states import Kept
from monitoring_lib.tables import CURSORS, DRAFTS, MESSAGES, OUTBOX, ROSTERS, Table

_FIELDS = ("round", "sender", "position", "receivers", "kind", "reason", "entries", "payload")
_TIME = pa.timestamp("us", "UTC")


def message_rows(
    messages: Sequence[Message], clock: Clock, monitor: str, method: str, write: str, table: Table = MESSAGES
) -> pa.Table:  # fmt: skip
    """Rows of `messages`, or with their day of `outbox`."""
    starts = pa.array([clock.start_of(message.epoch) for message in messages], _TIME)
    columns: dict[str, Any] = {name: [getattr(message, name) for message in messages] for name in (*_FIELDS, "bytes")}
    columns |= {"monitor": monitor, "method": method, "epoch_start": starts, "write": write}
    if table is OUTBOX:
        columns["day"] = starts.cast(pa.date32())
    return table_of(table, len(messages), columns)


def messages_of(rows: pa.Table, clock: Clock) -> list[Message]:
    """The messages of one monitor and method, in order of delivery."""
    epochs = [clock.epoch_of(start) for start in column_list(rows, "epoch_start")]
    columns = [rows[name].to_pylist() for name in _FIELDS]
    receivers = _FIELDS.index("receivers")
    columns[receivers] = [tuple(nodes) for nodes in columns[receivers]]
    return sorted(Message(*row) for row in zip(epochs, *columns, strict=True))


def answer_rows(answers: Answers, epoch_start: int, monitor: str, method: str, write: str) -> pa.Table:
    columns: dict[str, Any] = {name: answers.table[name] for name in answers.schema.names}
    columns["tick"] = answers.table["tick"].cast(_TIME)
    columns |= {"monitor": monitor, "method": method, "epoch_start": to_datetime(epoch_start), "write": write}
    return table_of(DRAFTS, len(answers), columns)


def state_rows(
    table: Table, kept: Mapping[str, Kept], epoch_start: int, monitor: str, method: str, write: str
) -> pa.Table:  # fmt: skip
    """By site or inner node what is stored of it."""
    start = to_datetime(epoch_start)
    columns: dict[str, Any] = {
        "site" if table.at_sites else "node": list(kept), "form": [one.form for one in kept.values()],
        "payload": [one.payload for one in kept.values()], "monitor": monitor, "method": method,
        "epoch_start": start, "day": start.date(), "write": write,
    }  # fmt: skip
    return table_of(table, len(kept), {name: columns[name] for name in table.columns})


def cursor_row(cursor: Cursor, epoch_start: int, monitor: str, write: str) -> pa.Table:
    start = to_datetime(epoch_start)
    columns = {"monitor": monitor, "epoch_start": start, "content": cursor.to_json(), "write": write}
    return table_of(CURSORS, 1, columns)


def roster_rows(
    joined: Iterable[tuple[int, Member]], known: int, clock: Clock, monitor: str, write: str
) -> pa.Table:  # fmt: skip
    """The members that join, with their epochs, after `known` others."""
    rows = [
        {
            "monitor": monitor, "epoch_start": to_datetime(clock.start_of(epoch)), "position": known + at,
            "site": member.site, "write": write,
            "placements": [(method, json.dumps(texts)) for method, texts in sorted(member.placements.items())],
        }
        for at, (epoch, member) in enumerate(joined)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, ROSTERS.schema)


def table_of(table: Table, rows: int, columns: Mapping[str, Any]) -> pa.Table:
    """Columns as arrays, lists, or one value for all rows."""
    made = []
    for each in table.schema:
        given = columns[each.name]
        if isinstance(given, pa.ChunkedArray | pa.Array):
            made.append(given.cast(each.type))
        elif isinstance(given, list):
            made.append(pa.array(given, each.type))
        else:
            made.append(pa.repeat(pa.scalar(given, each.type), rows))
    return pa.Table.from_arrays(made, schema=table.schema)
