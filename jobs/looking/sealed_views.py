"""Views that end at the seals, named as the Delta tables are.

Rows of a write that no seal names cannot be reached: what lies below the views has no name that SQL could
spell. Every view but `events`, `landings`, `quarantine` and `alerts` has a column `current`: whether the row is of its
epoch's last revision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from jobs.lake import Lake
from jobs.lake.seals import REPLACED
from jobs.lake.trouble import trouble
from jobs.looking.readable import Reader
from jobs.looking.storage import require_site_tables
from monitoring_lib import tables
from monitoring_lib.errors import UsageError
from monitoring_lib.tables import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_OF_MONITORS: dict[str, tuple[Table, str]] = {
    "answers": (tables.DRAFTS, "'drafts'"),
    "messages": (tables.MESSAGES, "'inbox', 'messages'"),
    "outbox": (tables.OUTBOX, "'inbox', 'messages'"),
    "states": (tables.STATES, "'states'"),
    "site_states": (tables.SITE_STATES, "'site_states'"),
    "rosters": (tables.ROSTERS, "'rosters'"),
    "plans": (tables.PLANS, "'gate'"),
    "cursors": (tables.CURSORS, "'cursors'"),
}
"""View, Delta table, and the outputs under which a seal names its rows."""
_READABLE = {
    "messages": ("letter_of", "''"), "states": ("state_of", "node"), "site_states": ("state_of", "''"),
}  # fmt: skip
"""View, the function that decodes its payloads, and the inner node whose role they are of ('' for sites)."""
_SAME_EPOCH = "r.monitor = k.monitor AND r.epoch_start = k.epoch_start"
_SAME_SHARED = "r.source = k.source AND r.epoch_start = k.epoch_start AND r.write = k.write"


class SealedViews:
    """Makes the views for one query. Only the tables that it names are opened, none is read before it runs."""

    def __init__(self, lake: Lake, connection: DuckDBPyConnection, sql: str) -> None:
        self.lake, self.connection = lake, connection
        self.words = set(re.findall(r"\w+", sql.lower()))
        self.refusal = ""
        """Why the query cannot go on, once it has read a table that it does not name."""

    def create(self) -> None:
        seals = self._opened(tables.EPOCHS).project(
            "*, monitor = '' OR revision = max(revision) OVER (PARTITION BY source, monitor, epoch_start) AS current"
        )
        seals.create_view("epochs")
        entries = seals.project("source, monitor, epoch_start, revision, current, unnest(map_entries(writes)) AS entry")
        self.named = entries.project("* EXCLUDE (entry), entry.key AS output, entry.value AS write").to_arrow_table()
        self._of_monitors()
        self._of_sources()
        for table in (tables.LANDINGS, tables.EVENTS, tables.QUARANTINE):
            self._counting(self._landed(table)).create_view(table.name)
        self._table(tables.ALERTS, "alerts").create_view("alerts")
        self._readable()

    def _of_monitors(self) -> None:
        for view, (table, outputs) in _OF_MONITORS.items():
            keys = self._keys(f"output IN ({outputs})", "monitor, epoch_start, write, revision, current")
            rows = self._table(table, view, f"{view}_readable")
            found = _joined(rows, keys, f"{_SAME_EPOCH} AND r.write = k.write")
            found.project("r.* EXCLUDE (write), k.revision, r.write, k.current").create_view(view)
        keys = self._keys("monitor != ''", "monitor, epoch_start, revision, current")
        verdicts = self._table(tables.VERDICTS, "verdicts")
        found = _joined(verdicts, keys, f"{_SAME_EPOCH} AND r.revision = k.revision")
        found.project("r.*, k.current").create_view("verdicts")

    def _of_sources(self) -> None:
        """Rows that several monitors of a source share: current if the last seal of any of them names them."""
        synopses = _joined(
            self._table(tables.SYNOPSES, "synopses"), self._shared("synopses").set_alias("k"), _SAME_SHARED
        )
        synopses.project("r.*, k.current").create_view("synopses")
        arrivals = _joined(self._table(tables.ARRIVALS, "arrivals"), self._shared("gate").set_alias("k"), _SAME_SHARED)
        arrivals.project("r.*, k.current").create_view("arrivals")
        own = self._keys("output = 'validations'", "source, monitor, epoch_start, write, current")
        keys = self._shared("gate").union(own).set_alias("k")
        checked = _joined(
            self._table(tables.VALIDATIONS, "validations"), keys, f"{_SAME_SHARED} AND r.monitor = k.monitor"
        )
        landed = self._landed(tables.VALIDATIONS).project("*, true AS current")
        checked.project("r.*, k.current").union(landed).create_view("validations")

    def _shared(self, output: str) -> DuckDBPyRelation:
        columns = "source, '' AS monitor, epoch_start, write, bool_or(current) AS current"
        return self._keys(f"output = '{output}'", "*").aggregate(columns, "source, epoch_start, write")

    def _landed(self, table: Table) -> DuckDBPyRelation:
        keys = self._keys("monitor = ''", "source, write")
        rows = self._events() if table is tables.EVENTS else self._table(table, table.name)
        return _joined(rows, keys, "r.source = k.source AND r.write = k.write").project("r.*")

    def _counting(self, landed: DuckDBPyRelation) -> DuckDBPyRelation:
        """Without the rows of files that others have replaced since."""
        of = "source, write, split_part(output, ' ', 3) AS d"
        gone = self._keys(f"monitor = '' AND output LIKE '{REPLACED} %'", of)
        same = "r.source = k.source AND r.write = k.write AND r.digest = k.d"
        return landed.set_alias("r").join(gone, same, how="anti")

    def _readable(self) -> None:
        """The same rows once more, with payloads as JSON instead of bytes."""
        reader, (text, binary) = Reader(self.lake), (duckdb.sqltypes.VARCHAR, duckdb.sqltypes.BLOB)
        for name, decode in (("letter_of", reader.letter), ("state_of", reader.state)):
            self.connection.create_function(name, decode, [text, text, text, binary], text)
        for view, (function, node) in _READABLE.items():
            decoded = f"{function}(monitor, method, {node}, payload)::JSON AS payload"
            self.connection.view(view).project(f"* REPLACE ({decoded})").create_view(f"{view}_readable")

    def _keys(self, condition: str, columns: str) -> DuckDBPyRelation:
        named = self.connection.from_arrow(self.named)
        return named.filter(condition).project(columns).distinct().set_alias("k")

    def _table(self, table: Table, *views: str) -> DuckDBPyRelation:
        """A table as a relation without a name; one that the query does not name is an error if it is read."""
        if self.words.intersection(views):
            return self._opened(table)
        return self._closed(table, f"the table {views[0]} is not open: write its name out in the query")

    def _events(self) -> DuckDBPyRelation:
        """Those that were copied; where some were not, the view would lack them without a word: so it is closed."""
        referred = self.lake.sites.read(tables.REFERENCES, (), ["source"])["source"].unique().to_pylist()
        if not referred:
            return self._table(tables.EVENTS, "events")
        why = f"events of {referred[0]} are not copied but read where their files are (`land: reference`): ask those"
        return self._closed(tables.EVENTS, why)

    def _opened(self, table: Table) -> DuckDBPyRelation:
        found = self.lake.store_of(table).open(table)
        if found is None:
            if table.at_sites and len(self.named):
                require_site_tables(self.lake)
            return self.connection.from_arrow(table.schema.empty_table())
        try:
            return self.connection.from_arrow(found.to_pyarrow_dataset())
        except (DeltaError, OSError) as error:
            raise trouble(found.table_uri, "read", error) from error

    def _closed(self, table: Table, why: str) -> DuckDBPyRelation:
        batches = _Closed(self, why)
        return self.connection.from_arrow(pa.RecordBatchReader.from_batches(table.schema, batches))


@dataclass(frozen=True)
class _Closed:
    """The batches of a table that must not be read."""

    views: SealedViews
    why: str

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        self.views.refusal = self.why
        raise UsageError(self.why)


def _joined(rows: DuckDBPyRelation, keys: DuckDBPyRelation, condition: str) -> DuckDBPyRelation:
    return rows.set_alias("r").join(keys, condition, how="inner")
