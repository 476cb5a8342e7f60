"""What one Spark task does for the sites dealt to it: restore, replay, observe or answer. Runs in workers.

Its input are rows about sites, all rows of a site together and in order; its output are rows of states,
messages and answers. The same functions run here as in a process of their own: only the rows come another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from jobs.restoring import Memory
from monitoring_lib.codec import decode
from monitoring_lib.engine import receive, replay
from monitoring_lib.methods import Method, Moment, Summary
from monitoring_lib.network import Message, node_of_site, stamp
from monitoring_lib.states import Kept, restore

Does = Literal["observe", "exchange", "answer"]

INPUT_DDL = (
    "site string, kind string, epoch bigint, round bigint, sender string, position bigint, receiver string, "
    "letter string, reason string, entries bigint, form string, payload binary"
)
OUTPUT = pa.schema(
    [
        ("site", pa.string()), ("kind", pa.string()), ("round", pa.int64()), ("sender", pa.string()),
        ("position", pa.int64()), ("receiver", pa.string()), ("letter", pa.string()), ("reason", pa.string()),
        ("entries", pa.int64()), ("form", pa.string()), ("payload", pa.binary()), ("tick", pa.int64()),
        ("key", pa.string()), ("rank", pa.int64()), ("estimate", pa.float64()), ("low", pa.float64()),
        ("high", pa.float64()), ("confidence", pa.float64()),
    ]
)  # fmt: skip
OUTPUT_DDL = (
    "site string, kind string, round bigint, sender string, position bigint, receiver string, letter string,"
    " reason string, entries bigint, form string, payload binary, tick bigint, key string, rank bigint,"
    " estimate double, low double, high double, confidence double"
)
_ROWS_A_BATCH = 256
_ANSWER = ("tick", "key", "rank", "estimate", "low", "high", "confidence")


@dataclass
class _SiteRows:
    """All that the tables hold for one site of this step."""

    site: str
    states: list[Kept] = field(default_factory=list)
    received: dict[int, list[Message]] = field(default_factory=dict)
    sent: dict[int, list[Message]] = field(default_factory=dict)
    arriving: list[bytes] = field(default_factory=list)
    expiring: list[bytes] = field(default_factory=list)

    def take(self, row: dict[str, Any]) -> None:
        kind, epoch = row["kind"], row["epoch"]
        if kind == "state":
            if row["form"] == "base":
                self.states.clear()
            self.states.append(Kept(row["form"], row["payload"]))
        elif kind in ("received", "sent"):
            message = Message(
                epoch, row["round"], row["sender"], row["position"], row["receiver"],
                row["letter"], row["reason"], row["entries"], row["payload"],
            )  # fmt: skip
            getattr(self, kind).setdefault(epoch, []).append(message)
        elif kind in ("arriving", "expiring"):
            getattr(self, kind).append(row["payload"])


@dataclass(frozen=True)
class SiteTask:
    """The function that Spark maps over the rows of its sites. `moments` holds the present epoch and earlier ones."""

    method: Method
    summary: Summary
    does: Does
    epoch: int
    round: int
    moments: dict[int, Moment]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ready: list[dict[str, Any]] = []
        for rows in _sites(batches):
            ready += self._run(rows)
            if len(ready) >= _ROWS_A_BATCH:
                yield pa.RecordBatch.from_pylist(ready, OUTPUT)
                ready = []
        yield pa.RecordBatch.from_pylist(ready, OUTPUT)

    def _run(self, rows: _SiteRows) -> list[dict[str, Any]]:
        node, role, moment = node_of_site(rows.site), self.method.site, self.moments[self.epoch]
        memory = Memory()
        if rows.states:
            memory.hold(node, restore(role.State, rows.states))
        else:
            memory.states[node] = role.start(node)
        state = memory.states[node]
        for epoch in sorted(epoch for epoch in rows.received if epoch < self.epoch):
            replay(self.method, self.moments[epoch], node, state, rows.received[epoch], rows.sent.get(epoch, []))
        if self.does == "observe":
            return self._observe(rows, node, memory, moment)
        return self._answer(rows, node, state, moment)

    def _observe(self, rows: _SiteRows, node: str, memory: Memory, moment: Moment) -> list[dict[str, Any]]:
        state = memory.states[node]
        posts = self.method.site.observe(state, moment, self._merged(rows.arriving), self._merged(rows.expiring))
        sent = stamp(moment.topology, moment.epoch, 0, node, posts)
        kept = memory.changed(node, state)
        out = [_message(rows.site, message) for message in sent]
        if kept is not None:
            out.append({"site": rows.site, "kind": "state", "form": kept.form, "payload": kept.payload})
        return out

    def _answer(self, rows: _SiteRows, node: str, state: Any, moment: Moment) -> list[dict[str, Any]]:
        """Takes in this epoch's rounds; says what the last of them brings, or what the site publishes."""
        received = rows.received.get(self.epoch, [])
        said: list[Message] = []
        for round_ in sorted({message.round for message in received}):
            inbox = [message for message in sorted(received) if message.round == round_]
            said = receive(self.method, moment, node, state, inbox, round_ + 1)
        if self.does == "exchange":
            return [_message(rows.site, message) for message in said]
        return [
            {"site": rows.site, "kind": "answer"} | {name: getattr(row, name) for name in _ANSWER}
            for row in self.method.site.answers(state, moment)
        ]

    def _merged(self, images: list[bytes]) -> Any:
        total = self.summary.empty()
        for image in images:
            total = total.merge(decode(image, self.summary.synopsis))
        return total


def _message(site: str, message: Message) -> dict[str, Any]:
    return {
        "site": site, "kind": "message", "round": message.round, "sender": message.sender,
        "position": message.position, "receiver": message.receiver, "letter": message.kind,
        "reason": message.reason, "entries": message.entries, "payload": message.payload,
    }  # fmt: skip


def _sites(batches: Iterator[pa.RecordBatch]) -> Iterator[_SiteRows]:
    """The rows of one site after the other; a site's rows may span several batches."""
    current: _SiteRows | None = None
    for batch in batches:
        for row in batch.to_pylist():
            if current is None or current.site != row["site"]:
                if current is not None:
                    yield current
                current = _SiteRows(row["site"])
            current.take(row)
    if current is not None:
        yield current
