"""Bytes that should be UTF-8: text goes on as it is, other bytes become marks that tell their rows."""

from __future__ import annotations

import codecs
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.streams import Stream
from monitoring_lib.errors import DataError

_FIRST_MARK = 0x10FF00
"""Byte b becomes the private character U+10FF00 + b."""
_MARKS = f"[{chr(_FIRST_MARK + 0x80)}-{chr(_FIRST_MARK + 0xFF)}]"
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ\x00": ".xz", b"PAR1": ".parquet"}


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(_FIRST_MARK + byte) for byte in bad), error.end


codecs.register_error("farwatch_mark", _mark)


class MarkedText:
    """A stream of UTF-8 whatever the bytes are. `marked` says whether any had to be marked so far."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("farwatch_mark")
        self.marked = False
        self.quotes = 0
        self.closed = False

    def read(self, size: int) -> bytes:
        while True:
            piece = self._stream.read(size)
            content = self._decoder.decode(piece, final=not piece).encode()
            if content or not piece:
                break
        self.marked = self.marked or (b"\xf4\x8f\xbe" in content or b"\xf4\x8f\xbf" in content)
        self.quotes += content.count(b'"')
        return content


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
        text: Any = line.decode() if len(line) < len(start) else line.decode(errors="ignore")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text (byte {error.start + 1} of its first line)") from None
    if re.search(r"[\x00-\x08\x0e-\x1f]", text):
        raise DataError(f"{path}: is not text: its first line holds control characters")
