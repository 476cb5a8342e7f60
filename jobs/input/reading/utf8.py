"""Bytes that should be UTF-8: text goes on as it is, other bytes become marks that tell their rows."""

from __future__ import annotations

import codecs
import re

import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.streams import Stream
from monitoring_lib.errors import DataError

_FIRST_MARK = 0x10FF00
"""Byte b becomes the private character U+10FF00 + b; only in files with such bytes does it tell a bad row."""
_MARKS = f"[{chr(_FIRST_MARK + 0x80)}-{chr(_FIRST_MARK + 0xFF)}]"
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ\x00": ".xz", b"PAR1": ".parquet"}
_REMEDY = "send it as UTF-8 text, or correct the source's path or format"


class MarkedText:
    """A stream of UTF-8 whatever the bytes are. `marked` says whether any had to be marked so far."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.marked = False
        self.quotes = 0
        self.closed = False
        self._is_over = False

    def end(self) -> None:
        """Nothing more is read of the stream."""
        self._is_over = True

    def read(self, size: int) -> bytes:
        if self._is_over:
            return b""
        text, piece = "", b"-"
        while piece and not text:  # a piece may hold no more than the beginning of a character
            piece = self._stream.read(size)
            text = self._decoder.decode(piece, final=not piece)
        try:
            content = text.encode()
        except UnicodeEncodeError:
            self.marked = True
            content = re.sub(r"[\udc80-\udcff]", _mark, text).encode()
        self.quotes += content.count(b'"')
        return content


def _mark(escaped: re.Match[str]) -> str:
    return chr(_FIRST_MARK + ord(escaped[0]) - 0xDC00)


def has_marks(texts: pa.Array) -> pa.Array:
    return pc.match_substring_regex(texts, _MARKS)


def without_marks(text: str) -> str:
    r"""Marks as the bytes they stand for: \xff."""
    return re.sub(_MARKS, lambda found: f"\\x{ord(found[0]) - _FIRST_MARK:02x}", text)


def refuse_binary(path: str, start: bytes) -> None:
    """DataError where a text file begins with what no text holds."""
    for magic, ending in _MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{path}: is not text but {ending[1:]}; is its name to end in {ending}?")
    line = start.split(b"\n", 1)[0]
    try:
        text = line.decode() if len(line) < len(start) else line.decode(errors="ignore")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text (byte {error.start + 1} of its first line); {_REMEDY}") from None
    if re.search(r"[\x00-\x08\x0e-\x1f]", text):
        raise DataError(f"{path}: is not text: its first line holds control characters; {_REMEDY}")
