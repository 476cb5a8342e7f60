"""Input files: found by pattern, told apart by digest, opened whatever they are packed in.

Local paths and URIs (s3, s3a, gs, hdfs, file) are the same to the callers.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pyarrow import fs

from jobs.input import versions as delta_versions
from jobs.input.storage import locate, storage_fault
from jobs.input.streams import CHUNK, Stream, open_stream
from monitoring_lib.suggest import nearest

__all__ = ["FoundFile", "Stream", "digest", "find", "is_as_found", "open_stream"]


@dataclass(frozen=True, slots=True, order=True)
class FoundFile:
    """A file, or one version of a Delta table (``PATH@vNUMBER``); `modified` in microseconds since 1970."""

    path: str
    size: int
    modified: int


def find(pattern: str, home: Path) -> list[FoundFile]:
    """The files of a pattern, by path: ``*``, ``?`` and ``[...]`` stay within a name, ``**`` crosses folders.

    Names that begin with . or _ are not looked at. A folder stands for the files in it, a Delta table for its
    versions. A file that is not there yet is no error.
    """
    address = pattern if "://" in pattern else os.path.abspath(home / pattern)
    system, path, before = locate(address)
    parts = path.split("/")
    fixed = next((at for at, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    try:
        found = set(_below(system, "/".join(parts[:fixed]), parts[fixed:]))
    except OSError as error:
        raise storage_fault(address, error) from error
    return sorted(FoundFile(before + file.path, file.size, file.modified) for file in found)


def is_as_found(file: FoundFile) -> bool:
    """Whether a file still has the size and the time of change that it was found with."""
    if delta_versions.parse(file.path) is not None:
        return True
    return as_it_is(file.path) == file


def as_it_is(path: str) -> FoundFile:
    """A file with its size and time of change; both are 0 where it is not there."""
    system, inner, _ = locate(path)
    now = system.get_file_info(inner)
    return FoundFile(path, now.size or 0, (now.mtime_ns or 0) // 1_000)


def digest(path: str) -> str:
    """SHA-256 of the content, unpacked, in hex."""
    version = delta_versions.parse(path)
    if version is not None:
        return hashlib.sha256(delta_versions.identity(version).encode()).hexdigest()
    hasher = hashlib.sha256()
    with open_stream(path) as stream:
        while chunk := stream.read(CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()


def _below(system: fs.FileSystem, folder: str, patterns: list[str]) -> Iterator[FoundFile]:
    """What fits the patterns, one a level, below a folder that is known by name."""
    if not patterns:
        yield from _all_of(system, system.get_file_info(folder))
    elif patterns[0] == "**":
        for file in _all_of(system, system.get_file_info(folder or "/")):
            if _fits(file.path.removeprefix(folder).strip("/").split("/"), patterns):
                yield file
    else:
        for entry in _entries(system, folder or "/"):
            if fnmatchcase(entry.base_name, patterns[0]):
                yield from _below(system, entry.path, patterns[1:])


def _fits(names: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return len(patterns) == 1 or any(_fits(names[at:], patterns[1:]) for at in range(len(names)))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _fits(names[1:], patterns[1:])


def _all_of(system: fs.FileSystem, entry: fs.FileInfo) -> Iterator[FoundFile]:
    """A file itself; the files of a folder at any depth; the versions of a Delta table."""
    if entry.type == fs.FileType.File:
        yield FoundFile(entry.path, entry.size or 0, (entry.mtime_ns or 0) // 1_000)
    elif entry.type == fs.FileType.Directory:
        if delta_versions.is_table(system, entry.path):
            for number, size, modified in delta_versions.versions(system, entry.path):
                yield FoundFile(str(delta_versions.Version(entry.path, number)), size, modified)
        else:
            for inner in _entries(system, entry.path):
                yield from _all_of(system, inner)


def _entries(system: fs.FileSystem, folder: str) -> Iterator[fs.FileInfo]:
    """What a folder holds; one that is gone holds nothing."""
    for entry in system.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
        if entry.base_name[:1] not in (".", "_"):
            yield entry


def nearest_beside(path: Path) -> str:
    """Which file of the folder may have been meant by a path that is not there."""
    try:
        return nearest(path.name, [entry.name for entry in path.parent.iterdir()][:50])
    except OSError:
        return ""
