"""What the landings of a source know: which content each path brought, and which rows of it count.

Content is known by the digest of what is unpacked. A file that grew brought its content in parts: the chain of a
digest names them in order, itself last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.content import Start
from jobs.lake import Lake, column_list
from jobs.lake.checking import refuse_damaged_landings
from jobs.lake.ledger import Landing
from monitoring_lib.config import Source
from monitoring_lib.tables import LANDINGS

_MOST_STARTS = 10_000
"""Where landed files are removed every day, the newest of them are enough to look for."""


class How(StrEnum):
    """How a file came to land."""

    NEW = "new"
    SAME = "same"
    """Its content has landed before: it brings nothing."""
    GROWN = "grown"
    """It begins with content that has landed; only what follows is new."""
    REPLACED = "replaced"
    """It stands for what its path, or the file that it begins with, brought before."""
    AGAIN = "again"
    """Rows that were set aside before, read again."""


@dataclass(frozen=True, slots=True)
class LandedFile:
    """One file in one landing; `epochs` counts its rows by epoch start."""

    path: str
    digest: str
    how: How
    write: str
    begins: str = ""
    """Digest of the landed content that it begins with, if it goes on from it, or replaces it under another name."""
    size: int = 0
    modified: int = 0
    unpacked: int = 0
    records: int = 0
    quarantined: int = 0
    epochs: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LandedContent:
    """What has landed under a digest: its parts, itself last, its length and its number of records."""

    chain: tuple[str, ...]
    unpacked: int
    records: int


@dataclass
class Known:
    """Grows landing by landing."""

    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By path, the parts of the content that it brought last."""
    contents: dict[str, LandedContent] = field(default_factory=dict)
    brought: dict[str, list[LandedFile]] = field(default_factory=dict)
    """By digest, the landings whose rows count."""
    aside: dict[str, LandedFile] = field(default_factory=dict)
    """By digest, the last reading of a content that set rows aside."""

    _held: Counter[str] = field(default_factory=Counter)
    """By digest, how many paths hold it."""

    @property
    def digests(self) -> Collection[str]:
        """All content that counts."""
        return self._held.keys()

    def holder(self, digest: str) -> str:
        """The path that brought a content, '' where none did."""
        if digest not in self._held:
            return ""
        return next(path for path, chain in self.chains.items() if digest in chain)

    def has_records(self, chain: Iterable[str]) -> bool:
        """Whether any part of a content has a record: not so an empty file, or a header alone."""
        return any(self.contents[digest].records for digest in chain)

    def _hold(self, path: str, chain: tuple[str, ...]) -> tuple[str, ...]:
        """A path holds another content from now on; gives what it held."""
        before = self.chains.pop(path, ())
        self._held.update(chain)
        self._held.subtract(before)
        for digest in before:
            if not self._held[digest]:
                del self._held[digest]
        if chain:
            self.chains[path] = chain
        return before

    def add(self, landings: Iterable[LandedFile]) -> list[LandedFile]:
        """Takes in the files of one landing; gives those whose rows no longer count."""
        replaced: list[str] = []
        for one in sorted(landings, key=lambda one: one.how == How.SAME):
            if one.how == How.AGAIN:
                self.brought.setdefault(one.digest, []).append(one)
                for digest in self.contents[one.digest].chain:
                    self.aside.pop(digest, None)
                if one.quarantined:
                    self.aside[one.digest] = one
                continue
            if one.how == How.REPLACED:
                replaced += self._hold(one.path, ())
                for path in self._ending_in(one.begins):
                    replaced += self._hold(path, ())
            if one.digest not in self.digests:
                before = self.contents[one.begins].chain if one.how == How.GROWN else ()
                self.contents[one.digest] = LandedContent((*before, one.digest), one.unpacked, one.records)
                self.brought.setdefault(one.digest, []).append(one)
                if one.quarantined:
                    self.aside[one.digest] = one
            self._hold(one.path, self.contents[one.digest].chain)
        gone = [digest for digest in dict.fromkeys(replaced) if digest not in self._held]
        for digest in gone:
            self.aside.pop(digest, None)
        return [one for digest in gone for one in self.brought.pop(digest, [])]

    def _ending_in(self, digest: str) -> list[str]:
        return [path for path, chain in self.chains.items() if chain[-1] == digest]

    def starts(self, unchanged: Collection[str]) -> list[Start]:
        """What other files may go on from: the content of paths that no longer hold it on storage, the newest first."""
        last = {
            chain[-1]: self.contents[chain[-1]]
            for path, chain in reversed(self.chains.items())
            if path not in unchanged and self.has_records(chain[-1:])
        }
        return [Start(digest, one.unpacked, one.records) for digest, one in last.items()][:_MOST_STARTS]


def all_landings(lake: Lake, source: Source) -> pa.Table:
    """The rows of a source's landings, also of those that were cut off."""
    return lake.sites.read(LANDINGS, [("source", "=", source.name)])


def landings_in_order(source: Source, rows: pa.Table, journal: Sequence[Landing]) -> pa.Table:
    """Of all, the rows of a journal's landings; DamagedTable where some are gone."""
    numbers = {one.write: one.revision for one in journal}
    refuse_damaged_landings(source.name, rows, numbers)
    at = pa.array([numbers.get(write, -1) for write in rows["write"].to_pylist()], pa.int64())
    return rows.append_column("number", at).filter(pc.greater_equal(at, 0)).sort_by("number")


def files_seen(landings: pa.Table) -> Mapping[str, tuple[int, int]]:
    """By path, size and time of change of the file as it last landed."""
    return dict(
        zip(
            landings["path"].to_pylist(),
            zip(column_list(landings, "bytes"), column_list(landings, "modified"), strict=True),
            strict=True,
        )
    )


def known_of(landings: pa.Table) -> Known:
    """What landings know, in their order."""
    known = Known()
    for _, files in groupby(_files(landings), lambda one: one.write):
        known.add(list(files))
    return known


def _files(rows: pa.Table) -> list[LandedFile]:
    names = (
        "path", "digest", "how", "write", "begins", "bytes", "modified", "unpacked", "records", "quarantined",
    )  # fmt: skip
    columns = {name: column_list(rows, name) for name in names}
    columns["how"] = [How(how) for how in columns["how"]]
    columns["size"] = columns.pop("bytes")
    columns["epochs"] = [{int(start): count for start, count in found} for found in rows["epochs"].to_pylist()]
    return [LandedFile(**dict(zip(columns, cells, strict=True))) for cells in zip(*columns.values(), strict=True)]
