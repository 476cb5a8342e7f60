"""CSV: quotes, newlines inside quotes, CRLF; a record of another width than the header is broken."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from jobs.input.reading.chunks import BrokenRecord, Chunk
from jobs.input.reading.reasons import Reason, Reasons
from jobs.input.reading.utf8 import EscapedText, escapes_shown, has_escapes, refuse_binary
from jobs.input.streams import Stream
from monitoring_lib.config import CsvOptions
from monitoring_lib.errors import DataError

LONGEST_HEADER = 1 << 20
LONGEST_RECORD = 4 << 20
_BOM = b"\xef\xbb\xbf"


class CsvFile:
    """One CSV file, read from its start to its end."""

    def __init__(self, stream: Stream, options: CsvOptions) -> None:
        self._stream = stream
        self._options = options
        stream.read(len(_BOM) if stream.peek(len(_BOM)) == _BOM else 0)
        refuse_binary(stream.path, stream.peek(4096).lstrip(b"\r\n"))
        self.names = self._header() if options.header is True else list(options.header)
        self._broken: list[BrokenRecord] = []

    def chunks(self) -> Iterator[tuple[Chunk, list[BrokenRecord]]]:
        """Records in order, with the broken ones that stand among and before them."""
        if not self._stream.peek(1 << 16).strip(b"\r\n"):
            return
        text = EscapedText(self._stream)
        line, last = 1, ""
        reader = self._open(text)
        try:
            for batch in reader:
                chunk, broken = self._numbered(batch, line, text.has_escapes)
                line += len(chunk) + len(broken)
                last = chunk.raw(len(chunk) - 1) if len(chunk) else last
                yield chunk, broken
        except pa.ArrowInvalid as error:
            raise DataError(f"{self._stream.path}: after record {line - 1}: {_explained(error)}") from error
        except GeneratorExit:
            text.end()
            _use_up(reader)
            raise
        left, self._broken = self._broken, []
        last = left[-1].raw if left else last
        if text.quotes % 2 and "\n" in last:
            raise DataError(f"{self._stream.path}: the last record opens a quote that is never closed: {last[:80]!r}")
        yield self._numbered(None, line, text.has_escapes)[0], left

    def _header(self) -> list[str]:
        start = self._stream.peek(LONGEST_HEADER)
        blank = len(start) - len(start.lstrip(b"\r\n"))
        end = start.find(b"\n", blank)
        while end >= 0 and start.count(b'"', blank, end) % 2:
            end = start.find(b"\n", end + 1)
        if end < 0 and len(start) == LONGEST_HEADER:
            raise DataError(f"{self._stream.path}: has no end of the header in its first {LONGEST_HEADER} bytes")
        header = self._stream.read(len(start) if end < 0 else end + 1)[blank:].decode(errors="replace")
        lines = csv.reader(io.StringIO(header, newline=""), delimiter=self._options.delimiter)
        names = next(lines, [])
        if any(lines):
            raise DataError(f"{self._stream.path}: its lines end with carriage returns alone; end them with newlines")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"{self._stream.path}: the header names {twice[0]!r} twice; give each column its own name")
        return names

    def _open(self, text: EscapedText) -> arrow_csv.CSVStreamingReader:
        return arrow_csv.open_csv(
            pa.PythonFile(text, mode="r"),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=LONGEST_RECORD, column_names=self.names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._options.delimiter,
                newlines_in_values=True,
                invalid_row_handler=self._set_aside,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )

    def _set_aside(self, row: arrow_csv.InvalidRow) -> str:
        expected = f"fields where {row.expected_columns} should be"
        reason = Reason(f"{row.actual_columns} {expected}", f"not as many {expected}", str(row.actual_columns))
        self._broken.append(BrokenRecord(row.number, reason, escapes_shown(row.text)))
        return "skip"

    def _numbered(self, batch: pa.RecordBatch | None, first: int, escaped: bool) -> tuple[Chunk, list[BrokenRecord]]:
        """A batch with the numbers of its records; broken ones that stand before its last record go with it.

        Arrow reads ahead: broken records of later batches may be known already.
        """
        count = 0 if batch is None else batch.num_rows
        numbers = np.arange(first, first + count + len(self._broken))
        numbers = np.setdiff1d(numbers, [row.line for row in self._broken], assume_unique=True)[:count]
        end = int(numbers[-1]) if count else first
        with_it = [row for row in self._broken if row.line < end]
        self._broken = [row for row in self._broken if row.line >= end]
        columns = {} if batch is None else dict(zip(self.names, batch.columns, strict=True))
        reasons = Reasons()
        sound = (
            {name: _without_escapes(name, column, reasons) for name, column in columns.items()} if escaped else columns
        )
        return Chunk(pa.array(numbers, pa.int64()), sound, lambda row: self._raw(columns, row), reasons), with_it

    def _raw(self, columns: dict[str, pa.Array], row: int) -> str:
        """A record as CSV again: the same fields, quoted where they have to be."""
        line = io.StringIO()
        writer = csv.writer(line, delimiter=self._options.delimiter, lineterminator="")
        writer.writerow([column[row].as_py() for column in columns.values()])
        return escapes_shown(line.getvalue())


def _use_up(reader: arrow_csv.CSVStreamingReader) -> None:
    """Waits for what Arrow reads ahead: a thread of it that still reads when Python ends would abort the process."""
    with suppress(pa.ArrowInvalid):  # of a record that the end cuts in two; nobody wants it any more
        for _ in reader:
            pass


def _without_escapes(name: str, column: pa.Array, reasons: Reasons) -> pa.Array:
    escaped = has_escapes(column)
    if not pc.any(escaped).as_py():
        return column
    for row in np.flatnonzero(escaped.to_numpy(zero_copy_only=False)):
        reasons.add(int(row), name, "is not UTF-8")
    return pc.if_else(escaped, None, column)


def _explained(error: pa.ArrowInvalid) -> str:
    if "straddling" in str(error) or "out of sync" in str(error):
        return f"a record of more than {LONGEST_RECORD} bytes, or a quote that is opened and never closed"
    return str(error)
