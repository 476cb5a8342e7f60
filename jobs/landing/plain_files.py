"""Lands Parquet files and versions of Delta tables through Spark's own reader.

Rows that are not plain to read, faulty ones above all, are read again by `jobs.input.reading`: they alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobs.input.files import is_as_found
from jobs.lake.conditions import RowCondition
from jobs.lake.site_tables import SiteTables
from jobs.landing.plain_frames import PlainFile, counts_of, events_of, others_of
from jobs.landing.writing import LandedRows, tally_of
from monitoring_lib.config import Source
from monitoring_lib.errors import FarwatchError, StorageError
from monitoring_lib.tables import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class UnreadBySparkError(Exception):
    """Spark's reader has failed; it does not tell files apart."""


@dataclass
class PlainFiles:
    """The files of a landing that Spark reads by itself, and by digest what has `landed` of them that way.

    By `reference` nothing is copied: what they hold is counted.
    """

    tables: SiteTables
    source: Source
    files: Sequence[PlainFile]
    reference: bool = False
    landed: Mapping[str, Counter[int]] = field(default_factory=dict)
    _others: DataFrame | None = None

    def land(self, write: str) -> LandedRows:
        """Appends their plain rows as events, and files the others; tells what became of each row."""
        from pyspark.errors import PySparkException

        found = LandedRows()
        if not self.files:
            return found
        try:
            self.landed = counts_of(self.tables, self.source, self.files) if self.reference else self._copied(write)
            lacking = [file for file in self.files if self.landed[file.digest].total() < file.table.records]
            if lacking:
                self._others = others_of(self.tables, self.source, lacking).persist()
                found = tally_of(self._others)
        except (FarwatchError, PySparkException) as error:
            raise UnreadBySparkError(str(error.__cause__ or error).splitlines()[0]) from error
        for digest, epochs in self.landed.items():
            found.add(digest, epochs, {})
        self._refuse_changed(found)
        return found

    def with_others(self, filed: DataFrame) -> DataFrame:
        """Filed rows, with those of these files that are not plain."""
        return filed if self._others is None else filed.unionAll(self._others)

    def leave(self) -> None:
        """Frees what is kept in memory."""
        if self._others is not None:
            self._others.unpersist()

    def _refuse_changed(self, found: LandedRows) -> None:
        """What is written is under no seal yet: the next try begins anew."""
        for file in self.files:
            rows = found.landed[file.digest].total() + found.quarantined[file.digest].total()
            if rows != file.table.records or not is_as_found(file.found):
                raise StorageError(
                    f"{file.found.path}: changed while it was landed ({rows} rows were read where it had"
                    f" {file.table.records}); move files into place when they are complete, then try again"
                )

    def _copied(self, write: str) -> dict[str, Counter[int]]:
        """Appends the plain rows as events; tells by digest how many there are of each epoch."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen, start = Observation(), F.unix_micros("epoch_start")
        rows = events_of(self.tables, self.source, self.files)
        self.tables.append(EVENTS, rows.observe(seen, F.min(start).alias("first"), F.max(start).alias("last")))
        first, last = seen.get["first"], seen.get["last"]
        if first is None:
            return {file.digest: Counter() for file in self.files}
        return self._counted(write, first, last)

    def _counted(self, write: str, first: int, last: int) -> dict[str, Counter[int]]:
        """What was written, counted in the table itself: narrow columns of the files that hold these epochs."""
        landed: dict[str, Counter[int]] = {file.digest: Counter() for file in self.files}
        conditions: list[RowCondition] = [
            ("epoch_start", ">=", first), ("epoch_start", "<=", last), ("write", "=", write),
        ]  # fmt: skip
        for (digest, epoch), count in self.tables.store.count(EVENTS, ["digest", "epoch_start"], conditions).items():
            landed[digest][epoch] += count
        return landed
