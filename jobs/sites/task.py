"""What one Spark task does for the sites dealt to it: restore, replay, observe or answer. Runs in workers.

Its input are rows about sites, all rows of an owner's site together and in order; its output are rows of states,
messages, answers, faults and errors. The same functions run here as in a process of their own: only the rows come
another way.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from jobs.epoch.memory import Memory
from monitoring_lib.answers import Answers
from monitoring_lib.codec import decode
from monitoring_lib.engine import Nothing, receive, replay
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import Message, node_of_site
from monitoring_lib.settling import stamp
from monitoring_lib.states import Kept
from monitoring_lib.summaries import Summary

Does = Literal["observe", "exchange", "answer"]

_MESSAGE = [
    ("round", pa.int64()), ("sender", pa.string()), ("position", pa.int64()), ("receivers", pa.list_(pa.string())),
    ("letter", pa.string()), ("reason", pa.string()), ("entries", pa.int64()),
]  # fmt: skip
_KEPT = [("form", pa.string()), ("payload", pa.binary())]
_SITE = [("owner", pa.int64()), ("site", pa.string()), ("kind", pa.string())]
INPUT = pa.schema([*_SITE, ("epoch", pa.int64()), *_MESSAGE, *_KEPT])
OUTPUT = pa.schema(
    [*_SITE, *_MESSAGE, *_KEPT, *((name, Answers.schema.field(name).type) for name in Answers.schema.names)]
)
_TYPES = {
    pa.int64(): "bigint", pa.string(): "string", pa.binary(): "binary", pa.list_(pa.string()): "array<string>",
    pa.float64(): "double", pa.bool_(): "boolean",
}  # fmt: skip


def types_of(schema: pa.Schema) -> dict[str, str]:
    """The columns as Spark declares them."""
    return {field.name: _TYPES[field.type] for field in schema}


def ddl_of(schema: pa.Schema) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types_of(schema).items())


_BYTES_A_BATCH = 4_000_000


@dataclass
class _SiteRows:
    """All that the tables hold for one owner's site of this step."""

    owner: int
    site: str
    base: int = -1
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
                self.base = epoch
            self.states.append(Kept(row["form"], row["payload"]))
        elif kind in ("received", "sent"):
            message = Message(
                epoch, row["round"], row["sender"], row["position"], tuple(row["receivers"]),
                row["letter"], row["reason"], row["entries"], row["payload"],
            )  # fmt: skip
            getattr(self, kind).setdefault(epoch, []).append(message)
        elif kind in ("arriving", "expiring"):
            getattr(self, kind).append(row["payload"])


@dataclass(frozen=True)
class SiteTasks:
    """The function that Spark maps over the rows of sites: each owner's go to its own task.

    What one of them raises is a row of its own and concerns no other.
    """

    tasks: tuple[SiteTask, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ready: list[pa.Table] = []
        for rows in _sites(batches):
            ready.append(self._done(rows))
            if sum(table.nbytes for table in ready) >= _BYTES_A_BATCH:
                yield from pa.concat_tables(ready).to_batches()
                ready = []
        yield from pa.concat_tables([OUTPUT.empty_table(), *ready]).combine_chunks().to_batches()

    def _done(self, rows: _SiteRows) -> pa.Table:
        try:
            found = self.tasks[rows.owner].run(rows)
        except Exception as error:  # whatever a role raises
            told = {"letter": type(error).__name__, "reason": str(error), "form": traceback.format_exc()}
            found = pa.Table.from_pylist([{"site": rows.site, "kind": "error", **told}], OUTPUT)
        return found.set_column(0, OUTPUT.field("owner"), pa.repeat(pa.scalar(rows.owner), found.num_rows))


@dataclass(frozen=True)
class SiteTask:
    """One method at its sites. `moments` holds the present epoch and earlier ones."""

    method: Method
    does: Does
    epoch: int
    moments: dict[int, Moment]

    def run(self, rows: _SiteRows) -> pa.Table:
        node, role, moment = node_of_site(rows.site), self.method.site, self.moments[self.epoch]
        memory = Memory()
        if rows.states:
            memory.hold(node, role.State, rows.states, rows.base)
        else:
            memory.states[node] = role.start(node)
        state = memory.states[node]
        for epoch in sorted(epoch for epoch in rows.received if epoch < self.epoch):
            replay(self.method, self.moments[epoch], node, state, rows.received[epoch], rows.sent.get(epoch, []))
        if self.does == "observe":
            return self._observe(rows, node, memory, moment)
        return self._answer(rows, node, state, moment)

    def _observe(self, rows: _SiteRows, node: str, memory: Memory, moment: Moment) -> pa.Table:
        state, summary = memory.states[node], self.method.summary()
        nothing = Nothing(self.method, moment)
        arriving, expiring = _merged(summary, rows.arriving), _merged(summary, rows.expiring)
        posts = self.method.site.observe(
            state, moment, nothing.at(node) if arriving is None else arriving,
            nothing.at(node) if expiring is None else expiring,
        )  # fmt: skip
        sent = stamp(moment.topology, moment.missing, moment.epoch, 0, node, posts)
        kept = memory.changed(node, state, self.epoch)
        out = [_message(rows.site, message) for message in sent]
        if kept is not None:
            out.append({"site": rows.site, "kind": "state", "form": kept.form, "payload": kept.payload})
        return pa.Table.from_pylist(out, OUTPUT)

    def _answer(self, rows: _SiteRows, node: str, state: Any, moment: Moment) -> pa.Table:
        """Takes in this epoch's rounds; says what the last of them brings, or what the site publishes."""
        received = rows.received.get(self.epoch, [])
        said: list[Message] = []
        for round_ in sorted({message.round for message in received}):
            inbox = [message for message in sorted(received) if message.round == round_]
            said = receive(self.method, moment, node, state, inbox, round_ + 1)
        if self.does == "exchange":
            return pa.Table.from_pylist([_message(rows.site, message) for message in said], OUTPUT)
        faults = [
            {"site": rows.site, "kind": "fault", "reason": fault} for fault in self.method.site.faults(state)
        ]  # fmt: skip
        return pa.concat_tables(
            [
                _answers(rows.site, self.method.site.answers(state, moment)),
                pa.Table.from_pylist(faults, OUTPUT),
            ]
        )


def _merged(summary: Summary, images: list[bytes]) -> Any:
    parts = [decode(image, summary.synopsis) for image in images]
    return summary.merge(parts) if parts else None


def _answers(site: str, answers: Answers) -> pa.Table:
    """Rows of a site's answers in the columns of the output."""
    constants = {"site": site, "kind": "answer"}
    return pa.Table.from_arrays(
        [
            answers.table[each.name]
            if each.name in answers.schema.names
            else pa.repeat(pa.scalar(constants.get(each.name), each.type), len(answers))
            for each in OUTPUT
        ],
        schema=OUTPUT,
    )


def _message(site: str, message: Message) -> dict[str, Any]:
    return {
        "site": site, "kind": "message", "round": message.round, "sender": message.sender,
        "position": message.position, "receivers": list(message.receivers), "letter": message.kind,
        "reason": message.reason, "entries": message.entries, "payload": message.payload,
    }  # fmt: skip


def _sites(batches: Iterator[pa.RecordBatch]) -> Iterator[_SiteRows]:
    """The rows of one site after the other; a site's rows may span several batches."""
    current: _SiteRows | None = None
    for batch in batches:
        for row in batch.to_pylist():
            if current is None or (current.owner, current.site) != (row["owner"], row["site"]):
                if current is not None:
                    yield current
                current = _SiteRows(row["owner"], row["site"])
            current.take(row)
    if current is not None:
        yield current
