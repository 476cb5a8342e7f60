"""What Spark's tasks do with a file: read it once, know it by its digest, and file its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from jobs.input import files
from jobs.input.content import ReadContent, Start, take
from jobs.input.files import FoundFile
from jobs.input.plain import DataFile, PlainTable, plain_table
from jobs.input.reading import needed_columns, read
from jobs.landing.decisions import Mode, Report
from jobs.landing.filing import FILED, AcceptedTimes, Filing
from monitoring_lib.config import Source
from monitoring_lib.errors import DataError

REPORT = -1
"""The line of the row that ends a file: its `raw` is the report, as JSON."""


@dataclass(frozen=True)
class LandFiles:
    """The function that Spark maps over rows of (number, path, size, modified, again).

    Content that has landed gives no rows unless it is to be read `again`; every file gives a report.
    """

    source: Source
    taken: AcceptedTimes
    landed: frozenset[str]
    """Digests of content that has landed."""
    starts: Sequence[Start]
    mode: Mode
    storage: str = ""
    """Where Spark has its own tables; what it can read itself is left to it, if this is said."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, path, size, modified, again in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                try:
                    yield from self._land(number, FoundFile(path, size, modified), again)
                except DataError as error:
                    yield report_row(Report(path, fault=str(error)))

    def _land(self, number: int, file: FoundFile, again: bool) -> Iterator[pa.RecordBatch]:
        taken = self._taken(file, again)
        digest = taken.digest if taken else files.digest(file.path)
        width = 1 if self.source.unpivot is None else len(self.source.unpivot.columns)
        before = taken.goes_on_from.records if taken and taken.goes_on_from else 0
        filing = Filing(self.source, file.path, digest, self.taken, number, before * width)
        last = before * width
        new = digest not in self.landed
        plain = self._plain(file) if new and not again and taken is None else None
        if plain is not None:
            yield report_row(Report(file.path, digest, file.size, plain.records, plain=plain))
            return
        if again or new:
            for rows in read(file.path, self.source, taken=taken):
                filed = filing.filed(rows)
                last = max(last, filed["line"][-1].as_py())
                yield filed
        # A text was whole before its first row; of other formats, what was read must not have changed meanwhile.
        if taken is None:
            self._refuse_changed(file)
            yield report_row(Report(file.path, digest, file.size, last // width, "", 0, filing.epochs, filing.faults))
            return
        taken.kept.close()
        begins = taken.begins.digest if taken.begins else ""
        yield report_row(
            Report(
                file.path, digest, taken.unpacked, last // width, begins, taken.waiting, filing.epochs, filing.faults
            )
        )

    def _plain(self, file: FoundFile) -> PlainTable | None:
        return plain_table(file.path, self.source, needed_columns(self.source), self.storage) if self.storage else None

    def _taken(self, file: FoundFile, again: bool) -> ReadContent | None:
        """The content of a text file; all of it, if it is read again."""
        if self.source.format in ("parquet", "delta"):
            return None
        grows = self.mode == "append"
        taken = take(file.path, () if again else self.starts, grows=grows, quoted=self.source.format == "csv")
        if not grows:
            self._refuse_changed(file)
        return taken

    def _refuse_changed(self, file: FoundFile) -> None:
        if not files.is_as_found(file):
            raise DataError(f"{file.path}: changed while it was landed; move files into place when they are complete")


@dataclass(frozen=True)
class ReadLines:
    """The function that Spark maps over rows of (number, path, digest, line): files these rows of tables.

    All rows of a file come to one task, in order.
    """

    source: Source
    taken: AcceptedTimes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted: dict[tuple[int, str, str], list[np.ndarray]] = {}
        for batch in batches:
            lines = batch["line"].to_numpy(zero_copy_only=False)
            numbers = batch["number"].to_numpy(zero_copy_only=False)
            cuts = np.flatnonzero(np.diff(numbers)) + 1
            for first, part in zip([0, *cuts], np.split(lines, cuts), strict=True):
                if len(part):
                    file = (int(numbers[first]), batch["path"][int(first)].as_py(), batch["digest"][int(first)].as_py())
                    wanted.setdefault(file, []).append(part)
        for (number, path, digest), parts in wanted.items():
            filing = Filing(self.source, path, digest, self.taken, number)
            for rows in read(path, self.source, lines=np.concatenate(parts)):
                yield filing.filed(rows)


def report_row(report: Report) -> pa.RecordBatch:
    told = asdict(report) | {"epochs": list(report.epochs.items()), "faults": dict(report.faults)}
    row = dict.fromkeys(FILED.names) | {"line": REPORT, "path": report.path, "raw": json.dumps(told)}
    return pa.RecordBatch.from_pylist([row], FILED)


def report_of(text: str) -> Report:
    told = json.loads(text)
    plain = told["plain"]
    if plain is not None:
        plain = PlainTable(plain["columns"], [DataFile(**file) for file in plain["files"]])
    return Report(**told | {"epochs": dict(told["epochs"]), "plain": plain})
