"""What processes read of a folder of tables: files opened, bytes read, processor seconds. Linux only."""

from __future__ import annotations

import ctypes
import os
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

_OPENED, _FOLDER = 0x20, 0x40000000
_NONBLOCK = os.O_NONBLOCK
_HEAD = struct.Struct("iIII")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Of one epoch, say."""

    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    by_table: Counter[str] = field(default_factory=Counter, compare=False)


class Watch:
    """Counts how often files below a folder are opened, by the table they belong to, whoever opens them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(_NONBLOCK)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._tables: dict[int, str] = {}

    def look(self) -> Self:
        """From here on; folders that came since the last look are watched too."""
        for place in [self.folder, *(path for path in self.folder.rglob("*") if path.is_dir())]:
            number = self._libc.inotify_add_watch(self._fd, os.fsencode(place), _OPENED)
            if number < 0:
                raise OSError(ctypes.get_errno(), f"inotify_add_watch {place}")
            parts = place.relative_to(self.folder).parts
            log = " log" if "_delta_log" in parts else ""
            self._tables[number] = (parts[1] if len(parts) > 1 else "") + log
        self.opened()
        return self

    def opened(self) -> Counter[str]:
        """Since the last call."""
        found: Counter[str] = Counter()
        while True:
            try:
                events = os.read(self._fd, 1 << 20)
            except BlockingIOError:
                return found
            at = 0
            while at < len(events):
                watch, mask, _, length = _HEAD.unpack_from(events, at)
                at += _HEAD.size + length
                if mask & _OPENED and not mask & _FOLDER:
                    found[self._tables.get(watch, "?")] += 1

    def close(self) -> None:
        os.close(self._fd)


def used(pids: Sequence[int]) -> tuple[int, float]:
    """Bytes read and processor seconds of these processes and all below them, so far."""
    read, ticks = 0, 0
    for pid in [one for root in pids for one in _family(root)]:
        try:
            io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it has just ended
            continue
        read += int(io["rchar"])
        ticks += int(stat[11]) + int(stat[12])
    return read, ticks / _TICKS


def _family(pid: int) -> list[int]:
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [one for child in children.read_text().split() for one in _family(int(child))]
        except FileNotFoundError:
            continue
    return found
