"""The content of a text file, read once: unpacked, known by its digest, and kept for the readers of its format.

Nothing of a file is handed on before all of it has been read: that it is whole, and whether it has landed before,
is known before its first row.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from jobs.input.streams import CHUNK, Stream, open_stream

_IN_MEMORY = 64 << 20
"""Bytes that a content takes in memory; what is longer goes through a file of its own."""
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Start:
    """Content that has landed, and that another file may begin with."""

    digest: str
    unpacked: int
    records: int


@dataclass
class ReadContent:
    """`begins` is None where the content begins with nothing that has landed; `kept` holds all of it, or what follows.

    `waiting` bytes at the end belong to a record that is not finished: they are no part of the content.
    """

    path: str
    digest: str
    unpacked: int
    begins: Start | None
    head: bytes
    waiting: int
    kept: IO[bytes]
    grows: bool

    @property
    def goes_on_from(self) -> Start | None:
        """What is left out of `kept`."""
        return self.begins if self.grows else None

    def stream(self) -> Stream:
        self.kept.seek(0)
        return Stream(self.path, self.kept)


def take(path: str, starts: Sequence[Start] = (), *, grows: bool = False, quoted: bool = False) -> ReadContent:
    """Reads a file to its end. It may begin with one of the `starts`, the longest of which counts.

    A file that `grows` is known up to its last whole record, and only what follows the start is kept; else all is.
    Records end with a newline, not one inside quotes where the format has them.
    """
    hasher = hashlib.sha256()
    at, size, head, begins = 0, 0, b"", None
    wanted = sorted({one.unpacked: one for one in starts}.values(), key=lambda one: one.unpacked)
    by_length = {length: [one for one in starts if one.unpacked == length] for length in {s.unpacked for s in starts}}
    kept: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # Stream closes it
    waiting = b""
    ends_record = True
    with open_stream(path, growing=grows) as stream:
        for piece in _whole_records(stream, quoted) if grows else _pieces(stream):
            content, waiting = piece
            head += content[: LONGEST_HEADER - len(head)]
            done = 0
            while at < len(wanted) and wanted[at].unpacked <= size + len(content):
                cut = wanted[at].unpacked - size
                hasher.update(content[done:cut])
                kept.write(content[done:cut])
                ends_record = content[cut - 1 : cut] == b"\n" if cut else ends_record
                found = next((one for one in by_length[wanted[at].unpacked] if one.digest == hasher.hexdigest()), None)
                if found is not None and ends_record:
                    begins = found
                    if grows:
                        kept.seek(0)
                        kept.truncate()
                done, at = cut, at + 1
            hasher.update(content[done:])
            kept.write(content[done:])
            size += len(content)
            ends_record = content.endswith(b"\n") if content else ends_record
    if begins is not None and begins.unpacked == size:
        begins = None  # the whole of it has landed: its digest says so
    return ReadContent(path, hasher.hexdigest(), size, begins, head, len(waiting), kept, grows)


def _pieces(stream: Stream) -> Iterator[tuple[bytes, bytes]]:
    while chunk := stream.read(CHUNK):
        yield chunk, b""


def _whole_records(stream: Stream, quoted: bool) -> Iterator[tuple[bytes, bytes]]:
    """Content up to the end of a record each time, with what is left over for the next."""
    left = b""
    while chunk := stream.read(CHUNK):
        left += chunk
        end = left.rfind(b"\n") + 1
        while quoted and end and left.count(b'"', 0, end) % 2:
            end = left.rfind(b"\n", 0, end - 1) + 1
        content, left = left[:end], left[end:]
        yield content, left
