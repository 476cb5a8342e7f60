"""Where a path or a URI leads: its file system, and the error that says what is wrong there."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from pyarrow import fs

from monitoring_lib.errors import DataError, FarwatchError, StorageError


def locate(place: str) -> tuple[fs.FileSystem, str, str]:
    """File system, path in it, and what stands before that path in the place's full name."""
    scheme, mark, rest = place.partition("://")
    if not mark or scheme == "file":
        return _local(), rest if mark else place, ""
    authority, _, path = rest.partition("/")
    system, base = _remote("s3" if scheme == "s3a" else scheme, authority)
    before = f"{scheme}://" if base.strip("/") else f"{scheme}://{authority}"
    return system, f"{base.rstrip('/')}/{path}", before


def storage_fault(path: str, error: OSError) -> FarwatchError:
    """What is wrong with the file itself is a DataError; all else is worth another try."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"{path}: is gone; it will be landed if it comes back")
    if isinstance(error, PermissionError | IsADirectoryError | NotADirectoryError):
        return DataError(
            f"{path}: cannot be read ({error.strerror or error}); check what it is and its permissions"
        )
    return StorageError(f"{path}: cannot be read ({error}); try again")


@lru_cache(maxsize=1)
def _local() -> fs.FileSystem:
    return fs.LocalFileSystem()


@lru_cache(maxsize=16)
def _remote(scheme: str, authority: str) -> tuple[fs.FileSystem, str]:
    try:
        system, base = fs.FileSystem.from_uri(f"{scheme}://{authority}")
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{scheme}://{authority}: no such storage ({error}); check the path") from error
    return system, base
