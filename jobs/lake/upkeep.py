"""What keeps a coordinator's table quick to open however often it is appended to: checkpoints, and few files.

Whoever wins a commit whose number is a multiple of `CHECKPOINT_EVERY` writes a checkpoint. Putting small files together
is left to `farwatch maintain`, one at a time: the engine lets two rewrites that overlap both commit, and rows would be
doubled.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties
from deltalake.exceptions import CommitFailedError

CHECKPOINT_EVERY = 10
NO_RETRY = CommitProperties(max_commit_retries=0)
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_SMALLEST, _LARGEST = 128_000, 32_000_000
_NEWEST = 20
"""Appends by which the weight of one is told."""
_BETWEEN_TRIES = 0.05
_LEAST_FREE = 1 << 16
"""Bytes that a commit takes beside its data files."""
_APPENDS_A_FILE = 32
"""A file is full when it holds about so many appends: a step reads a few epochs, not a file of thousands."""


def tend(found: DeltaTable) -> None:
    """Called after a commit: does what is due with its number."""
    version = found.version()
    if version and version % CHECKPOINT_EVERY == 0:
        checkpoint(found)


def checkpoint(found: DeltaTable) -> None:
    """Whoever opens the table from now on reads one file in place of all commits; old ones are dropped in time."""
    found.create_checkpoint()
    found.cleanup_metadata()


def compact(found: DeltaTable, size: int) -> bool:
    """Puts files below `size` together, up to that; neighbours stay neighbours. Whether there was anything to do.

    Only for whoever is `alone`.
    """
    try:
        done = found.optimize.compact(
            target_size=size, commit_properties=NO_RETRY, post_commithook_properties=NO_HOOKS
        )  # fmt: skip
    except CommitFailedError:  # another commit came between: the next time it is due does it
        found.update_incremental()
        return False
    return bool(done["numFilesAdded"])


def refuse_full(folder: str, written: int) -> None:
    """OSError where the disk has no room for so many bytes of data files.

    Checked before delta-rs writes: where it cannot, it prints a Rust backtrace beside its error.
    """
    if "://" not in folder and shutil.disk_usage(folder).free < _LEAST_FREE + written:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)


@contextmanager
def alone(folder: str, doing: str = "rewriting", patience: float = 0.0) -> Iterator[bool]:
    """Whether nobody else does the same with the table in this folder, now or after so many seconds of waiting.

    An object store has no such lock.
    """
    if "://" in folder:
        yield True
        return
    deadline = time.monotonic() + patience
    with open(Path(folder) / f"_{doing}", "w") as lock:
        while not (ours := _taken(lock)) and time.monotonic() < deadline:
            time.sleep(_BETWEEN_TRIES)
        yield ours


def held_since(folder: str, doing: str = "rewriting") -> float | None:
    """When the one who does this with the table began, in seconds since 1970; None if nobody does.

    A process that ends gives its lock back, however it ends: only one that hangs holds it for long.
    """
    path = Path(folder) / f"_{doing}"
    if "://" in folder or not path.exists():
        return None
    with open(path) as lock:
        return None if _taken(lock) else path.stat().st_mtime


def _taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def full_size(found: DeltaTable) -> int:
    """The size up to which files are put together while epochs run, by what the newest appends weigh."""
    sizes = pa.table(found.get_add_actions(flatten=True)).sort_by([("modification_time", "descending")])["size_bytes"]
    newest = sizes.slice(0, _NEWEST).to_pylist()
    return int(min(max(_APPENDS_A_FILE * median(newest), _SMALLEST), _LARGEST)) if newest else _SMALLEST
