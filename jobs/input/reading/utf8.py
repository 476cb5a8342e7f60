"""Bytes that should be UTF-8: text goes on as it is, other bytes become escapes, by which their rows are found."""

from __future__ import annotations

import codecs
import re

import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.streams import Stream
from monitoring_lib.errors import DataError

_FIRST_ESCAPE = 0x10FF00
"""Byte b becomes the private character U+10FF00 + b; only in files with such bytes does it tell a bad row."""
_ESCAPES = f"[{chr(_FIRST_ESCAPE + 0x80)}-{chr(_FIRST_ESCAPE + 0xFF)}]"
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ\x00": ".xz", b"PAR1": ".parquet"}
_REMEDY = "send it as UTF-8 text, or correct the source's path or format"


class EscapedText:
    """A stream of UTF-8 whatever the bytes are. `has_escapes` says whether any byte had to be escaped so far."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.has_escapes = False
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
            self.has_escapes = True
            content = re.sub(r"[\udc80-\udcff]", _escape, text).encode()
        self.quotes += content.count(b'"')
        return content


def _escape(found: re.Match[str]) -> str:
    return chr(_FIRST_ESCAPE + ord(found[0]) - 0xDC00)


def has_escapes(texts: pa.Array) -> pa.Array:
    return pc.match_substring_regex(texts, _ESCAPES)


def escapes_shown(text: str) -> str:
    r"""The text with each escape as the byte that it stands for: \xff."""
    return re.sub(_ESCAPES, lambda found: f"\\x{ord(found[0]) - _FIRST_ESCAPE:02x}", text)


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
