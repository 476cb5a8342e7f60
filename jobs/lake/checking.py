"""Rows as they are read, beside what was recorded of them when they were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from jobs.lake.records import Part, part_of, record
from jobs.lake.times import rows_by
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import Table


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of a table that is not as it was written: how many rows are there, and whether any should be."""

    part: Part
    rows: int
    expected: bool

    @property
    def text(self) -> str:
        if not self.expected:
            return f"rows are there where none were written ({self.rows})"
        return f"its rows are not those that were written ({self.rows} are there)" if self.rows else "its rows are gone"


def refuse_damaged_landings(source: str, rows: pa.Table, journal: Mapping[str, int]) -> None:
    """DamagedTable if a landing of the journal has no file in the table, or a file twice: it would be landed again.

    `rows` are those of the source in `landings`; the journal has the number of each landing by its write.
    """
    written = rows["write"].to_pylist()
    files = Counter(zip(written, rows["path"].to_pylist(), strict=True))
    lost = journal.keys() - set(written)
    doubled = [path for (write, path), times in sorted(files.items()) if times > 1]
    if not lost and not doubled:
        return
    what = (
        f"what landing {min(journal[write] for write in lost)} brought is gone"
        if lost
        else f"{doubled[0]} is there twice"
    )
    raise DamagedTable(
        f"{source}: the table `landings` is damaged: {what}. Restore it from a copy, or give the source a new name:"
        " under that, its files land anew"
    )


def differences(table: Table, rows: pa.Table, expected: Mapping[Part, str]) -> list[Difference]:
    """The parts whose rows are other ones than their digests say, in order of epochs; one without a digest has none.

    A digest covers the number of rows and what they say. Binary cells may come as the hex of their SHA-256.
    """
    found: dict[Part, tuple[int, str]] = {}
    for (write,), part in rows_by(rows, "write").items():
        found |= {part_of(one): (one["rows"], one["digest"]) for one in record(table, "", "", part, write)}
    return [
        Difference(key, found.get(key, (0, ""))[0], key in expected)
        for key in sorted(expected.keys() | found.keys(), key=lambda part: (part.epoch_start, part))
        if found.get(key, (0, None))[1] != expected.get(key)
    ]
