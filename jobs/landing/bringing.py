"""Brings files in: reads them, decides what becomes of each, and writes the rows of those that land."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.input.files import FoundFile
from jobs.lake import Lake, new_write
from jobs.landing.decisions import FileDecision, Mode, Report, decide_files
from jobs.landing.filing import FILED_DDL, AcceptedTimes
from jobs.landing.known import How, Known
from jobs.landing.plain_files import PlainFiles, UnreadBySparkError
from jobs.landing.plain_frames import PlainFile
from jobs.landing.references import record_references
from jobs.landing.tasks import LandFiles
from jobs.landing.writing import LandedRows, reports_of, tally_of, write_events, write_quarantine
from jobs.terminal.console import say
from monitoring_lib.config import Source
from monitoring_lib.tables import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FilesToLand:
    """The files to look at: `new` ones, and those whose set-aside rows are to be read `again`.

    `there` are all paths on storage.
    """

    new: Sequence[FoundFile]
    again: Sequence[FoundFile] = ()
    there: Collection[str] = ()
    mode: Mode = "refuse"


@dataclass
class Brought:
    """The outcome: by path what was decided and what was found; `tally` counts what was written under `write`."""

    write: str
    decided: Mapping[str, FileDecision]
    reports: Mapping[str, Report]
    tally: LandedRows


@dataclass
class Bringing:
    """One try to land what is wanted."""

    lake: Lake
    source: Source
    known: Known
    wanted: FilesToLand
    taken: AcceptedTimes
    reports: dict[str, Report] = field(default_factory=dict)

    def bring(self) -> Brought:
        """Appends the rows of the files that land, under the write that comes back.

        Tables are left to Spark's own reader. Where it fails, every file is read by itself: that tells which is bad.
        """
        if self.source.format not in ("parquet", "delta"):
            return self._bring("")
        try:
            return self._bring(self.lake.sites.location(EVENTS))
        except UnreadBySparkError as error:
            say(f"{self.source.name}: Spark cannot read the files as they are ({error}); they are read one by one")
            return self._bring("")

    def _bring(self, storage: str) -> Brought:
        """What no decision lands is not written, or not under a write that is sealed."""
        from pyspark.sql import functions as F

        files = [*self.wanted.new, *self.wanted.again]
        filed, write = self._filed(files, storage).persist(), new_write("land")
        plain: PlainFiles | None = None
        try:
            self.reports = {report.path: report for report in reports_of(filed)}
            reference = self.source.land == "reference"
            plain = PlainFiles(self.lake.site_tables, self.source, self._plain(files, write), reference)
            self._complete(plain.land(write))
            decided = self._decided()
            landing = {number for number, file in enumerate(files) if decided[file.path].brings_rows}
            if not landing:
                return Brought(write, decided, self.reports, LandedRows())
            rows = plain.with_others(filed).where(F.col("file").isin(sorted(landing)))
            tally = self._tally(rows, [self.reports[files[number].path] for number in sorted(landing)], plain.landed)
            others = tally.epochs.total() - sum(epochs.total() for epochs in plain.landed.values())
            if others:
                write_events(self.lake.site_tables, self.source, rows, write, others)
            if tally.kinds:
                write_quarantine(self.lake.site_tables, self.source, rows, write)
            if reference:
                record_references(self.lake, self.source, plain.files, plain.landed)
                copied = len(landing) - len(plain.files)
                if copied > 0:
                    say(f"{self.source.name}: {copied} files are copied: Spark's reader would read them differently")
        finally:
            filed.unpersist()
            if plain is not None:
                plain.leave()
        return Brought(write, decided, self.reports, tally)

    def _plain(self, files: Sequence[FoundFile], write: str) -> list[PlainFile]:
        """The tables that Spark is to read, each content once."""
        decided, found = self._decided(), []
        for number, file in enumerate(files):
            report = self.reports[file.path]
            if report.plain is not None and decided[file.path].brings_rows:
                found.append(PlainFile(number, file, report.digest, report.plain, self.taken, write))
        return found

    def _complete(self, found: LandedRows) -> None:
        """Reports of what Spark has read, as if a task had read it."""
        for path, report in self.reports.items():
            if report.plain is not None and report.digest in found.landed:
                epochs, faults = found.landed[report.digest], found.quarantined[report.digest]
                self.reports[path] = replace(report, epochs=epochs, faults=faults)

    def _tally(
        self, rows: DataFrame, reports: Sequence[Report], landed: Mapping[str, Mapping[int, int]]
    ) -> LandedRows:  # fmt: skip
        """What the files bring that land; of files that are read again, only the rest is among the rows.

        By digest, rows have `landed` that are not among them.
        """
        if not self.wanted.again:
            tally = LandedRows()
            for report in reports:
                tally.add(report.digest, report.epochs, report.faults)
            return tally
        tally = tally_of(rows)
        for digest, epochs in landed.items():
            tally.add(digest, epochs, {})
        return tally

    def _decided(self) -> dict[str, FileDecision]:
        again = {file.path for file in self.wanted.again}
        new = [report for path, report in self.reports.items() if path not in again]
        decided = decide_files(self.source, self.known, new, self.wanted.there, self.wanted.mode)
        for path in again & self.reports.keys():
            report = self.reports[path]
            lands = not report.fault and report.digest in self.known.contents
            decided[path] = (
                FileDecision(How.AGAIN) if lands else FileDecision(None, report.fault or f"{path}: has changed")
            )
        return decided

    def _filed(self, files: Sequence[FoundFile], storage: str) -> DataFrame:
        from pyspark.sql import functions as F

        tables, again = self.lake.site_tables, {file.path for file in self.wanted.again}
        listed = pa.table(
            {
                "number": pa.array(range(len(files)), pa.int64()), "path": [file.path for file in files],
                "size": [file.size for file in files], "modified": [file.modified for file in files],
                "again": [file.path in again for file in files],
            }
        )  # fmt: skip
        unchanged = set(self.wanted.there) - {file.path for file in self.wanted.new}
        task = LandFiles(
            self.source, self.taken, frozenset(self.known.digests), self.known.starts(unchanged), self.wanted.mode,
            storage,
        )  # fmt: skip
        spread = tables.spark.createDataFrame(listed).repartition(min(len(files), tables.parallelism))
        filed = spread.mapInArrow(task, FILED_DDL)
        if not again:
            return filed
        # The lines of a file that grew are counted through, but each part landed under the digest of its time.
        parts = {digest: chain[-1] for path in again for chain in [self.known.chains[path]] for digest in chain}
        writes = sorted({one.write for digest in parts for one in self.known.brought.get(digest, ())})
        mine = F.col("digest").isin(sorted(parts))
        whole = F.coalesce(*(F.when(F.col("digest") == part, F.lit(last)) for part, last in sorted(parts.items())))
        landed = self.lake.written(self.source, writes).where(mine)
        return filed.join(landed.select(whole.alias("digest"), "line"), ["digest", "line"], "left_anti")
