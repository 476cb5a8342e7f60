"""The rows that Spark's tasks need about sites, gathered for several monitors and methods: each table is read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.epoch.monitor_run import MonitorRun
from jobs.lake import Lake
from jobs.lake.site_tables import to_frame
from jobs.sites.task import INPUT, types_of
from monitoring_lib.epochs import Clock, to_datetime
from monitoring_lib.methods import Method
from monitoring_lib.network import Message, node_of_site
from monitoring_lib.tables import MESSAGES, SITE_STATES, SYNOPSES, Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MESSAGE = {"letter": "kind", "round": "round", "sender": "sender", "position": "position"} | {
    name: name for name in ("receivers", "reason", "entries", "payload")
}
_WHOLE, _TEXT, _TIME = pa.int64(), pa.string(), pa.timestamp("us", "UTC")
_NAMED = {"epoch_start": _TIME, "write": _TEXT}
"""The columns by which rows of a write are found in every table."""
_OWNED = {"owner": _WHOLE, "monitor": _TEXT, "method": _TEXT}
_CELLS = {"states": {**_OWNED, "site": _TEXT, **_NAMED}, "spoken": {**_OWNED, **_NAMED}} | {
    "synopses": {"owner": _WHOLE, "into": _TEXT, "summary": _TEXT, "site": _TEXT, **_NAMED},
    "ends": {"owner": _WHOLE, "site": _TEXT, "node": _TEXT, "since": _WHOLE},
}
_LETTERS = pa.schema([("number", _WHOLE), *(INPUT.field(name) for name in ("epoch", *_MESSAGE) if name != "receivers")])
_HEARD = {"owner": _WHOLE, "site": _TEXT, "node": _TEXT, "number": _WHOLE}


@dataclass
class Needed:
    """An owner is the number of a task: one method of one monitor, at its sites."""

    lake: Lake
    source: str
    clock: Clock
    cells: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: {name: [] for name in _CELLS})
    """By kind of rows the cells that are read, as tuples of what tells them apart."""
    here: list[dict[str, Any]] = field(default_factory=list)
    """Rows that are in this process."""
    letters: list[dict[str, Any]] = field(default_factory=list)
    """Messages that are in this process, each once however many sites have received it."""
    heard: list[tuple[int, str, str, int]] = field(default_factory=list)
    """Who has received them: owner, site, node and number of the message."""
    _numbers: dict[tuple[int, Message], int] = field(default_factory=dict)

    def sites(self, owner: int, sites: Iterable[str]) -> None:
        """Who takes part; those about whom nothing else is known too."""
        self.here += [{"owner": owner, "site": site, "kind": "roster", "epoch": -1} for site in sites]

    def states(self, owner: int, run: MonitorRun, method: Method, rows: Iterable[tuple[str, int, str]]) -> None:
        """The rows of states of these (site, epoch start, write)."""
        names = owner, run.monitor.name, method.name
        self.cells["states"] += [(*names, *row) for row in rows]

    def synopses(self, owner: int, into: str, summary: str, rows: Iterable[tuple[str, int, str]]) -> None:
        """The synopses of these (site, epoch start, write); `into` says whether they arrive or expire."""
        self.cells["synopses"] += [(owner, into, summary, *row) for row in rows]

    def messages(
        self, owner: int, run: MonitorRun, method: Method, writes: Iterable[tuple[int, str]],
        ends: Iterable[tuple[str, int]],
    ) -> None:  # fmt: skip
        """What each site has received, and answered, since an epoch, of these (epoch start, write)."""
        self.cells["spoken"] += [(owner, run.monitor.name, method.name, *row) for row in writes]
        self.cells["ends"] += [(owner, site, node_of_site(site), since) for site, since in ends]

    def message(self, owner: int, site: str, kind: str, message: Message) -> None:
        """One that is in this process: `received` or `sent` by the site."""
        row = {name: getattr(message, attribute) for name, attribute in _MESSAGE.items()} | {"epoch": message.epoch}
        if kind == "sent":
            self.here.append({"owner": owner, "site": site, "kind": kind, **row})
            return
        number = self._numbers.setdefault((owner, message), len(self.letters))
        if number == len(self.letters):
            self.letters.append(row | {"number": number, "receivers": None})
        self.heard.append((owner, site, node_of_site(site), number))

    def frame(self) -> DataFrame:
        """All of it, in the columns that a task takes."""
        here = to_frame(self.lake.site_tables.spark, pa.Table.from_pylist(self.here, INPUT))
        parts = [here, *self._of_states(), *self._of_synopses(), *self._of_messages(), *self._of_heard()]
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _of_states(self) -> Iterable[DataFrame]:
        from pyspark.sql import functions as F

        if self.cells["states"]:
            keys = ["monitor", "method", "site", "epoch_start", "write"]
            rows = self._pruned(SITE_STATES, "states").join(self._listed("states"), keys)
            yield self._shaped(rows, F.lit("state"), "form", "payload")

    def _of_synopses(self) -> Iterable[DataFrame]:
        from pyspark.sql import functions as F

        if self.cells["synopses"]:
            rows = self._pruned(SYNOPSES, "synopses").where(F.col("source") == self.source)
            rows = rows.join(self._listed("synopses"), ["summary", "site", "epoch_start", "write"])
            yield self._shaped(rows, F.col("into"), "payload")

    def _of_messages(self) -> Iterable[DataFrame]:
        from pyspark.sql import functions as F

        if not self.cells["spoken"]:
            return
        keys = ["monitor", "method", "epoch_start", "write"]
        spoken = self._pruned(MESSAGES, "spoken").join(self._listed("spoken"), keys).withColumnRenamed("kind", "letter")
        ends = self._listed("ends").withColumnRenamed("owner", "whose")
        known = (F.col("owner") == F.col("whose")) & (self._epoch() >= F.col("since"))
        delivered = spoken.withColumn("receiver", F.explode("receivers"))
        received = delivered.join(ends, (F.col("receiver") == F.col("node")) & known)
        # A site that replays what it received need not know who else did: a mesh would repeat the list for every pair.
        received = received.withColumn("receivers", F.array("receiver"))
        yield self._shaped(received, F.lit("received"), *_MESSAGE)
        sent = spoken.where("round > 0").join(ends, (F.col("sender") == F.col("node")) & known)
        yield self._shaped(sent, F.lit("sent"), *_MESSAGE)

    def _of_heard(self) -> Iterable[DataFrame]:
        """Letters meet their receivers in Spark: what is sent there grows with the letters, not with their copies."""
        from pyspark.sql import functions as F

        if self.heard:
            letters = to_frame(self.lake.site_tables.spark, pa.Table.from_pylist(self.letters, _LETTERS))
            rows = self._frame(_HEARD, self.heard).join(F.broadcast(letters), "number")
            rows = rows.withColumn("receivers", F.array("node"))
            yield self._shaped(rows, F.lit("received"), *_MESSAGE, epoch=F.col("epoch"))

    def _listed(self, name: str) -> DataFrame:
        return self._frame(_CELLS[name], self.cells[name])

    def _frame(self, kinds: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> DataFrame:
        columns = zip(zip(*rows, strict=True), kinds.values(), strict=True)
        arrays = [pa.array(values, kind) for values, kind in columns]
        return to_frame(self.lake.site_tables.spark, pa.Table.from_arrays(arrays, list(kinds)))

    def _pruned(self, table: Table, name: str) -> DataFrame:
        """Only the files of the epochs and days that are named are opened."""
        from pyspark.sql import functions as F

        at = list(_CELLS[name]).index("epoch_start")
        moments = [to_datetime(start) for start in sorted({cell[at] for cell in self.cells[name]})]
        rows = self.lake.frame(table).where(F.col("epoch_start").isin(moments))
        return rows.where(F.col("day").isin(sorted({moment.date() for moment in moments}))) if table.at_sites else rows

    def _epoch(self) -> Column:
        from pyspark.sql import functions as F

        since = F.unix_micros("epoch_start") - F.lit(self.clock.origin)
        return F.call_function("div", since, F.lit(self.clock.length).cast("bigint"))

    def _shaped(self, rows: DataFrame, kind: Column, *columns: str, epoch: Column | None = None) -> DataFrame:
        """Rows of some table in the columns that a task takes; what they lack is null."""
        from pyspark.sql import functions as F

        have = {
            "owner": F.col("owner"),
            "site": F.col("site"),
            "kind": kind,
            "epoch": self._epoch() if epoch is None else epoch,
        }
        have |= {name: F.col(name) for name in columns}
        return rows.select(
            *(have.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in types_of(INPUT).items())
        )
