"""JSON lines: one object a line. Numbers stay the digits they are written in, so nothing is rounded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from jobs.input.reading.chunks import Chunk
from jobs.input.reading.reasons import Reason, Reasons
from jobs.input.reading.utf8 import refuse_binary
from jobs.input.streams import Stream
from monitoring_lib.errors import DataError

LONGEST_LINE = 64 << 20
_PIECE = 4 << 20
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def read_json(stream: Stream, columns: list[str]) -> Iterator[Chunk]:
    """The lines that are not blank, piece by piece."""
    first = stream.peek(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    refuse_binary(stream.path, first)
    if first.startswith(b"[") or first.split(b"\n", 1)[0].strip() == b"{":
        raise DataError(f"{stream.path}: is one JSON value over many lines; write one object a line (JSON lines)")
    line = 1
    for lines in _pieces(stream):
        chunk = _chunk(lines, line, columns)
        line += len(chunk)
        yield chunk


def first_keys(stream: Stream) -> list[str]:
    """The keys of the first record; nothing where it is none."""
    lines = next(_pieces(stream), [])
    return list(_record(lines[0], 0, Reasons())) if lines else []


def _pieces(stream: Stream) -> Iterator[list[bytes]]:
    rest = b""
    skip = len(b"\xef\xbb\xbf") if stream.peek(3) == b"\xef\xbb\xbf" else 0
    stream.read(skip)
    while piece := stream.read(_PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise DataError(f"{stream.path}: has a line of more than {LONGEST_LINE} bytes; is it JSON lines?")
        yield [line for line in lines if line.strip()]
    if rest.strip():
        yield [rest]


def _chunk(lines: list[bytes], first: int, columns: list[str]) -> Chunk:
    reasons = Reasons()
    records = [_record(line, at, reasons) for at, line in enumerate(lines)]
    return Chunk(
        pa.array(range(first, first + len(lines)), pa.int64()),
        {name: _column(name, records, reasons) for name in columns},
        lambda row: lines[row].decode(errors="backslashreplace").rstrip("\r"),
        reasons,
    )


def _record(line: bytes, row: int, reasons: Reasons) -> dict[str, Any]:
    try:
        record = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        reasons.add(row, "the line", "is not UTF-8")
    except json.JSONDecodeError as error:
        where = f"{error.msg} at character {error.pos + 1}"
        reasons.keep(row, Reason(f"the line is not JSON: {where}", "the line is not JSON", where))
    except RecursionError:
        reasons.add(row, "the line", "is nested too deep")
    else:
        if isinstance(record, dict):
            return record
        reasons.add(row, "the line", "is JSON but no object")
    return {}


def _column(name: str, records: list[dict[str, Any]], reasons: Reasons) -> pa.Array:
    values = [record.get(name) for record in records]
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowException, UnicodeError, TypeError):
        return pa.array([_text(name, value, row, reasons) for row, value in enumerate(values)], pa.string())


def _text(name: str, value: Any, row: int, reasons: Reasons) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        reasons.add(row, name, f"is {'an object' if isinstance(value, dict) else 'a list'}, not a plain value")
        return None
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            reasons.add(row, name, "holds half of a surrogate pair")
            return None
        return value
    return None
