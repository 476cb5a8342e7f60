"""What a helper process hands back of one monitor: rows by table, as Arrow's streams, behind a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

import pyarrow as pa


@dataclass(frozen=True)
class Parcel:
    """The rows of one monitor by name of their table, and its cursor after the range's last epoch."""

    monitor: str
    cursor: str
    rows: Mapping[str, pa.Table]

    def write(self, stream: IO[bytes]) -> None:
        parts = {name: _packed(rows) for name, rows in self.rows.items()}
        sizes = {name: len(part) for name, part in parts.items()}
        stream.write(json.dumps({"monitor": self.monitor, "cursor": self.cursor, "sizes": sizes}).encode() + b"\n")
        for part in parts.values():
            stream.write(part)
        stream.flush()

    @classmethod
    def read(cls, stream: IO[bytes]) -> Parcel:
        """ValueError where the stream ends before the parcel does."""
        head = json.loads(stream.readline() or "null")
        if head is None:
            raise ValueError("it said nothing")
        rows = {name: _unpacked(stream, size) for name, size in head["sizes"].items()}
        return cls(head["monitor"], head["cursor"], rows)


def _packed(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def _unpacked(stream: IO[bytes], size: int) -> pa.Table:
    part = stream.read(size)
    if len(part) < size:
        raise ValueError("it ended in the middle of its rows")
    with pa.ipc.open_stream(part) as reader:
        return reader.read_all()
