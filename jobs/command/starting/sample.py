"""The first rows of a file of any format, as columns of texts, and how the file is laid out."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.input.files import nearest_beside
from jobs.input.streams import open_stream
from monitoring_lib.errors import DataError, UsageError

ROWS = 20_000
_DELIMITERS = ",;\t|"
_BEGINNING = 64 * 1024
_PACKED = (".gz", ".xz", ".zst")
_FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".log": "csv", ".json": "json", ".jsonl": "json",
            ".ndjson": "json", ".parquet": "parquet"}  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """`columns` hold the rows' texts, None where there is nothing; `named` says whether the file names its columns."""

    path: Path
    format: str
    columns: dict[str, list[str | None]]
    delimiter: str = ","
    named: bool = True

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


def sample_of(path: Path) -> Sample:
    """The first rows; DataError or UsageError where the file is not one that a source can have."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such file{nearest_beside(path)}")
    if (path / "_delta_log").is_dir():
        return Sample(path, "delta", _of_batches(_delta(path)))
    if path.is_dir():
        raise UsageError(f"{path}: is a folder and no Delta table; name files in it")
    kind = _format(path)
    if kind == "parquet":
        return Sample(path, kind, _of_batches(_parquet(path)))
    with open_stream(str(path)) as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="")
        try:
            found = Sample(path, kind, _of_records(islice(text, ROWS), path)) if kind == "json" else _csv(path, text)
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); convert it first") from error
    if not found.rows:
        raise DataError(f"{path}: holds no rows to look at")
    return found


def _format(path: Path) -> str:
    name = path.name.lower()
    ending = next((packed for packed in _PACKED if name.endswith(packed)), "")
    kind = _FORMATS.get(Path(name.removesuffix(ending)).suffix)
    if kind is None or (ending and kind == "parquet"):
        known = ", ".join(sorted(_FORMATS))
        raise UsageError(
            f"{path}: its name does not say what it is; known endings are {known}, and .gz .xz .zst behind"
        )
    return kind


def _csv(path: Path, text: io.TextIOWrapper) -> Sample:
    beginning = text.read(_BEGINNING)
    lines = beginning.splitlines(keepends=True)
    delimiter = _delimiter(beginning if len(lines) < 2 else "".join(lines[:200]))
    reader = csv.reader(_with_rest(beginning, text), delimiter=delimiter)
    rows = [row for row in islice(reader, ROWS + 1) if row]
    if not rows:
        raise DataError(f"{path}: holds no rows to look at")
    named = _is_header(rows)
    names = rows[0] if named else [f"column{number}" for number in range(1, len(rows[0]) + 1)]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: its header names a column twice; name its columns under `csv: {{header: [...]}}`")
    body = rows[1:] if named else rows
    columns = {name: [row[at] or None if at < len(row) else None for row in body] for at, name in enumerate(names)}
    return Sample(path, "csv", columns, delimiter, named)


def _with_rest(beginning: str, text: io.TextIOWrapper) -> Iterator[str]:
    *whole, last = beginning.splitlines(keepends=True) or [""]
    yield from whole
    yield last + (text.readline() if not last.endswith("\n") else "")
    yield from text


def _delimiter(lines: str) -> str:
    """The one that cuts all lines into the same number of fields, the more the better."""
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        lengths = {len(row) for row in csv.reader(io.StringIO(lines), delimiter=delimiter) if row}
        if len(lengths) <= 2 and max(lengths, default=0) > most:  # the last line may be cut off
            best, most = delimiter, max(lengths)
    if most == 1:  # nothing else cuts the lines: perhaps single spaces do, as in logs
        lengths = {len(row) for row in csv.reader(io.StringIO(lines), delimiter=" ") if row}
        best = " " if len(lengths) <= 2 and max(lengths, default=0) > 2 else best
    return best


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Names are texts, none of them a number or a time, of which the rows below have some."""
    first = rows[0]
    plain = all(cell.strip() and not re.match(r"[+-]?\d", cell.strip()) for cell in first)
    below = any(re.match(r"[+-]?\d", cell) for row in rows[1:50] for cell in row)
    return plain and (below or len(rows) == 1)


def _of_records(lines: Iterator[str], path: Path) -> dict[str, list[str | None]]:
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: is not JSON, one record a line ({error})") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}:{number}: is no JSON object; a source has one object a line")
        records.append(record)
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [_text(record.get(name)) for record in records] for name in names}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    return json.dumps(value) if not isinstance(value, int | float) else str(value)


def _of_batches(batches: Iterator[pa.RecordBatch]) -> dict[str, list[str | None]]:
    columns: dict[str, list[str | None]] = {}
    rows = 0
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            columns.setdefault(name, []).extend(_texts(column))
        rows += batch.num_rows
        if rows >= ROWS:
            break
    return columns


def _texts(column: pa.Array) -> list[str | None]:
    if pa.types.is_timestamp(column.type):
        return [None if value is None else value.isoformat() for value in column.cast(
            pa.timestamp("us", column.type.tz), safe=False).to_pylist()]  # fmt: skip
    return [None if value is None else str(value) for value in column.to_pylist()]


def _parquet(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    try:
        yield from pq.ParquetFile(path).iter_batches(ROWS)
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from error


def _delta(path: Path) -> Iterator[pa.RecordBatch]:
    from deltalake import DeltaTable

    yield from DeltaTable(str(path)).to_pyarrow_dataset().to_batches(batch_size=ROWS)
