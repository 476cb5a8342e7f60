"""answers.parquet, messages.parquet and verdicts.parquet of a simulation, written as it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import StorageError
from monitoring_lib.replay import Step
from monitoring_lib.tables import ANSWERS, MESSAGES, VERDICTS, Table

WRITE = "simulated"
"""The write that every row names: no seal will ever name it."""
CHUNK_ROWS = 50_000
CHUNK_BYTES = 64 * 1024 * 1024
TABLES = (ANSWERS, MESSAGES, VERDICTS)


class Tables:
    """The rows of each epoch, in chunks; a file gets its name only when all of it is written."""

    def __init__(self, folder: Path | None, monitor: str) -> None:
        self._folder = folder
        self._monitor = monitor
        self._waiting: dict[str, list[pa.Table]] = {table.name: [] for table in TABLES}
        self._rows: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> Self:
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                for table in TABLES:
                    self._writers[table.name] = pq.ParquetWriter(self._part(table), table.schema, compression="zstd")
            except OSError as error:
                raise StorageError(f"--out {self._folder}: {error}") from error
        return self

    def add(self, step: Step) -> None:
        if self._folder is None:
            return
        start = to_datetime(step.moment.start)
        common = {
            "monitor": self._monitor, "method": step.method, "epoch_start": start, "revision": 0, "write": WRITE,
        }  # fmt: skip
        self._keep(ANSWERS, _filled(ANSWERS, step.settled.answers.table, common))
        self._keep(VERDICTS, _filled(VERDICTS, step.verdicts.table, common))
        self._keep(MESSAGES, _filled(MESSAGES, _messages(step), common))

    def _keep(self, table: Table, more: pa.Table) -> None:
        self._waiting[table.name].append(more)
        self._rows[table.name] += len(more)
        self._bytes[table.name] += more.nbytes
        if self._rows[table.name] > CHUNK_ROWS or self._bytes[table.name] > CHUNK_BYTES:
            self._flush(table)

    def _flush(self, table: Table) -> None:
        waiting = self._waiting[table.name]
        if waiting:
            self._writers[table.name].write_table(pa.concat_tables(waiting).combine_chunks())
            waiting.clear()
            self._rows[table.name] = self._bytes[table.name] = 0

    def _part(self, table: Table) -> Path:
        assert self._folder is not None
        return self._folder / f"{table.name}.parquet.part"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is None:
            return
        for table in TABLES:
            if error is None:
                self._flush(table)
            self._writers[table.name].close()
        for table in TABLES:
            if error is None:
                self._part(table).replace(self._folder / f"{table.name}.parquet")
            else:
                self._part(table).unlink()


def _filled(table: Table, rows: pa.Table, common: Mapping[str, Any]) -> pa.Table:
    """The rows in the table's columns; what they lack is the same for all of them."""
    columns = [
        rows[name].cast(column.kind.arrow)
        if name in rows.column_names
        else pa.repeat(pa.scalar(common[name], column.kind.arrow), len(rows))
        for name, column in table.columns.items()
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _messages(step: Step) -> pa.Table:
    messages = step.settled.messages
    names = ("round", "sender", "position", "receivers", "kind", "reason", "entries", "bytes", "payload")
    return pa.table(
        {
            name: pa.array([getattr(message, name) for message in messages], MESSAGES.columns[name].kind.arrow)
            for name in names
        }
    )
