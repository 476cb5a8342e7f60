"""answers.parquet, messages.parquet and verdicts.parquet of a simulation, written as it goes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.rows import answer_rows, message_row
from monitoring_lib.epochs import Clock, to_datetime
from monitoring_lib.errors import StorageError
from monitoring_lib.methods import Verdict
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

    def add(self, step: Step, clock: Clock) -> None:
        if self._folder is None:
            return
        who, start = (self._monitor, step.method, WRITE), step.moment.start
        answers = answer_rows(step.settled.answers, start, *who)
        self._keep(ANSWERS, [row | {"revision": 0} for row in answers])
        self._keep(MESSAGES, [message_row(message, clock, *who) for message in step.settled.messages])
        self._keep(VERDICTS, [verdict_row(verdict, start, *who) for verdict in step.verdicts])

    def _keep(self, table: Table, rows: list[dict[str, Any]]) -> None:
        more = pa.Table.from_pylist(rows, table.schema)
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


def verdict_row(verdict: Verdict, epoch_start: int, monitor: str, method: str, write: str) -> dict[str, Any]:
    named = ("node", "key", "promise", "exact", "error", "allowed", "kept")
    return {name: getattr(verdict, name) for name in named} | {
        "monitor": monitor, "method": method, "epoch_start": to_datetime(epoch_start),
        "tick": to_datetime(verdict.tick), "revision": 0, "write": write,
    }  # fmt: skip
