"""Where a path or a URI leads: its file system, and the error that says what is wrong there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from monitoring_lib.errors import DataError, FarwatchError, StorageError


def locate(address: str) -> tuple[fs.FileSystem, str, str]:
    """File system, path in it, and what stands before that path in the place's full name."""
    scheme, separator, rest = address.partition("://")
    if not separator or scheme == "file":
        return _local(), rest if separator else address, ""
    authority, _, path = rest.partition("/")
    system, base = _remote("s3" if scheme == "s3a" else scheme, authority)
    before = f"{scheme}://" if base.strip("/") else f"{scheme}://{authority}"
    return system, f"{base.rstrip('/')}/{path}", before


def storage_fault(path: str, error: OSError) -> FarwatchError:
    """What is wrong with the file itself is a DataError; all else is worth another try."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"{path}: is gone; it will be landed if it comes back")
    if "is a directory" in str(error):  # Arrow gives it no class of its own
        return DataError(f"{path}: is a folder; name the files in it")
    if isinstance(error, PermissionError | NotADirectoryError):
        return DataError(f"{path}: cannot be read ({error.strerror or error}); check what it is and its permissions")
    return StorageError(f"{path}: cannot be read ({error}); try again")


@lru_cache(maxsize=1)
def _local() -> fs.FileSystem:
    return fs.LocalFileSystem()


@lru_cache(maxsize=16)
def _remote(scheme: str, authority: str) -> tuple[fs.FileSystem, str]:
    try:
        if scheme == "s3":
            return _object_store(os.environ), authority
        system, base = fs.FileSystem.from_uri(f"{scheme}://{authority}")
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{scheme}://{authority}: no such storage ({error}); check the path") from error
    return system, base


def _object_store(environ: Mapping[str, str]) -> fs.FileSystem:
    """An S3 store as the environment describes it, in the names that every AWS tool reads."""
    endpoint = urlsplit(environ.get("AWS_ENDPOINT_URL", ""))
    return fs.S3FileSystem(
        region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1",
        endpoint_override=endpoint.netloc or None,
        scheme=endpoint.scheme or "https",
    )
