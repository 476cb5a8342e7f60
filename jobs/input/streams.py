"""The bytes of an input file, unpacked by the ending of its name; every way they can fail is a DataError."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from typing import Any

import pyarrow as pa

from jobs.input.storage import locate, storage_fault
from monitoring_lib.errors import DataError

CHUNK = 1 << 20


def open_stream(path: str, growing: bool = False) -> Stream:
    """The content of a file, unpacked by the ending of its name: .gz, .zst or .xz.

    Of a file that is still `growing`, what there was when it was opened.
    """
    stored = StoredBytes(path, growing)
    unpacked: Any = stored
    if path.endswith(".gz"):
        unpacked = gzip.GzipFile(fileobj=io.BufferedReader(stored, CHUNK), mode="rb")
    elif path.endswith(".xz"):
        unpacked = lzma.LZMAFile(io.BufferedReader(stored, CHUNK))  # noqa: SIM115  # Stream closes it
    elif path.endswith(".zst"):
        unpacked = pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), "zstd")
    return Stream(path, unpacked)


class StoredBytes(io.RawIOBase):
    """The stored bytes of a file; it must keep its length until the last of them is read, unless it is `growing`."""

    def __init__(self, path: str, growing: bool = False) -> None:
        self._path, self._growing = path, growing
        self._done = 0
        system, inner, _ = locate(path)
        try:
            self._size = system.get_file_info(inner).size
            self._file = system.open_input_stream(inner, compression=None)
        except OSError as error:
            raise storage_fault(path, error) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._file.read(len(buffer))
        except OSError as error:
            raise storage_fault(self._path, error) from error
        if self._growing and self._size is not None:
            chunk = chunk[: max(0, self._size - self._done)]
        self._done += len(chunk)
        if self._size is not None and (self._done > self._size or (not chunk and self._done < self._size)):
            raise DataError(
                f"{self._path}: had {self._size} bytes when it was opened and changed while it was read;"
                " move files into place when they are complete"
            )
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class Stream(io.RawIOBase):
    """Unpacked bytes, with a look ahead; what cannot be unpacked is a DataError."""

    def __init__(self, path: str, unpacked: Any) -> None:
        self.path = path
        self._unpacked = unpacked
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def peek(self, count: int) -> bytes:
        """The next `count` bytes, fewer at the end only; they are still to be read."""
        while len(self._ahead) < count and (chunk := self._take(CHUNK)):
            self._ahead += chunk
        return self._ahead[:count]

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return b"".join(iter(lambda: self.read(CHUNK), b""))
        if self._ahead:
            chunk, self._ahead = self._ahead[:size], self._ahead[size:]
            return chunk
        return self._take(size)

    def readinto(self, buffer: Any) -> int:
        chunk = self.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _take(self, size: int) -> bytes:
        try:
            return bytes(self._unpacked.read(size))
        except EOFError:
            raise DataError(f"{self.path}: is truncated; send the whole file again") from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            truncated = "truncated" in str(error).lower()
            what = "is truncated" if truncated else f"is corrupt or not what its name says ({error})"
            raise DataError(f"{self.path}: {what}; send the whole file again") from error

    def close(self) -> None:
        if not self.closed:
            self._unpacked.close()
        super().close()
