"""The sites' side in Spark's tasks: sites are dealt over partitions, and only what they say comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.epoch_plan import Plan
from jobs.lake import Lake
from jobs.lake.seals import Seal
from jobs.lake.site_tables import to_frame
from jobs.restoring import moment_then
from jobs.site_task import INPUT_DDL, OUTPUT_DDL, Does, SiteTask
from monitoring_lib.epochs import to_datetime
from monitoring_lib.methods import Answer, Method
from monitoring_lib.network import Message, node_of_site, site_of_node
from monitoring_lib.tables import MESSAGES, OUTBOX, SITE_STATES, SYNOPSES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = [column.split()[0] for column in INPUT_DDL.split(", ")]
_MESSAGE = {"letter": "kind", "round": "round", "sender": "sender", "position": "position"} | {
    name: name for name in ("receiver", "reason", "entries", "payload")
}


@dataclass
class SparkSites:
    """The sites of one monitor and method in one epoch. Rows of states and outbox are written at once."""

    lake: Lake
    plan: Plan
    method: Method
    write: str
    observed: str = ""
    """The write under which the sites have observed the epoch."""
    _told: list[Message] = field(default_factory=list)

    def observe(self) -> list[Message]:
        plan = self.plan
        present = sorted((plan.chain.roster | set(plan.join())) - set(plan.absent()))
        seen = {site: plan.chain.last_seen.get(site, -1) for site in present}
        parts = [self._roster(present), self._states(plan.chain.living(self.method.name), present)]
        parts += [self._synopses(present), self._leaving(seen), *self._messages(seen)]
        out = self._run("observe", 0, parts).persist()
        try:
            self._write_states(out)
            sent = self._said(out)
            self._write_outbox(out)
        finally:
            out.unpersist()
        self.observed = self.write
        return sent

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        """The asked sites are restored as they were after they observed, and hear this epoch's rounds again."""
        self._told += [message for messages in inbox.values() for message in messages]
        out = self._run("exchange", round_, self._asked(inbox.keys())).persist()
        try:
            sent = self._said(out)
            if sent:
                self._write_outbox(out)
        finally:
            out.unpersist()
        return sent

    def take_upkeep(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> None:
        """The next epoch replays it from the messages."""

    def answers(self) -> list[Answer]:
        if not self.method.site.publishes:
            return []
        moment = self.plan.moment(self.method)
        rows = self._run("answer", 0, self._asked(moment.present)).where("kind = 'answer'").collect()
        names = ("tick", "key", "rank", "estimate", "low", "high", "confidence")
        return sorted(
            (Answer(node_of_site(row["site"]), *(row[name] for name in names)) for row in rows),
            key=lambda answer: (answer.node, answer.tick, answer.rank or 0, answer.key),
        )

    def _run(self, does: Does, round_: int, parts: Sequence[DataFrame]) -> DataFrame:
        epoch, chain = self.plan.epoch, self.plan.chain
        since = min(chain.last_seen.values(), default=epoch) if does == "observe" else epoch
        moments = {at: moment_then(chain, self.method, at) for at in range(max(since, 0), epoch)}
        moments[epoch] = self.plan.moment(self.method)
        task = SiteTask(self.method, self.plan.inputs.wish.summary, does, epoch, round_, moments)
        rows = reduce(lambda one, other: one.unionByName(other), parts)
        return rows.repartition("site").sortWithinPartitions("site", "epoch", "round").mapInArrow(task, OUTPUT_DDL)

    def _asked(self, nodes: Iterable[str]) -> list[DataFrame]:
        sites = sorted(map(site_of_node, nodes))
        seals = [
            *self.plan.chain.living(self.method.name),
            self.plan.unsealed({"site_states": self.observed}),
        ]
        wanted = set(map(node_of_site, sites))
        told = [message for message in self._told if message.receiver in wanted]
        rows = [
            {"site": site_of_node(message.receiver), "kind": "received", "epoch": message.epoch}
            | {name: getattr(message, attribute) for name, attribute in _MESSAGE.items()}
            for message in told
        ]
        return [self._roster(sites), self._states(seals, sites), self._local(rows)]

    def _roster(self, sites: Sequence[str]) -> DataFrame:
        """One row a site, so that those about which nothing else is known take part too."""
        return self._local([{"site": site, "kind": "roster", "epoch": -1} for site in sites])

    def _states(self, seals: Sequence[Seal], sites: Sequence[str]) -> DataFrame:
        rows = self._sealed(SITE_STATES, seals, "site_states").join(self._names(sites), "site")
        return self._shaped(rows, "state", "form", "payload")

    def _synopses(self, sites: Sequence[str]) -> DataFrame:
        """What arrives: this epoch's synopses; where the method begins anew, all that count."""
        from pyspark.sql import functions as F

        inputs, plan = self.plan.inputs, self.plan
        rows = self._read_synopses([plan.unsealed({"synopses": inputs.write})])
        if self.method.name in plan.chain.anew:
            counting = set(inputs.window.members(plan.epoch))
            seals = [seal for seal in inputs.earlier_seals if plan.chain.clock.epoch_of(seal.epoch_start) in counting]
            absent = [
                (site, seal.epoch_start) for seal in seals for site in seal.missing_sites
            ]  # fmt: skip
            earlier = self._read_synopses(seals).join(self._pairs(absent), ["site", "epoch_start"], "left_anti")
            rows = rows.unionByName(earlier)
        return self._shaped(rows.join(self._names(sites), "site"), "arriving", "payload").withColumn(
            "form", F.lit(None)
        )

    def _leaving(self, seen: Mapping[str, int]) -> DataFrame:
        """What leaves each site's window, according to when it last observed."""
        inputs, plan = self.plan.inputs, self.plan
        anew = self.method.name in plan.chain.anew
        pairs = [
            (site, plan.chain.clock.start_of(epoch))
            for site, last in seen.items()
            for epoch in inputs.window.leaving(last, plan.epoch)
            if site not in inputs.absent.get(epoch, ()) and not anew
        ]
        rows = self._read_synopses(inputs.earlier_seals if pairs else ()).join(
            self._pairs(pairs), ["site", "epoch_start"]
        )
        return self._shaped(rows, "expiring", "payload")

    def _messages(self, seen: Mapping[str, int]) -> list[DataFrame]:
        """What each site has received, and answered, since it last observed."""
        from pyspark.sql import functions as F

        chain = self.plan.chain
        living = chain.living(self.method.name)
        first = min(seen.values(), default=-1)
        seals = [seal for seal in living if chain.clock.epoch_of(seal.epoch_start) >= first]
        if not seals:
            return []
        spoken = self._sealed(MESSAGES, seals, "inbox").unionByName(self._sealed(MESSAGES, seals, "messages"))
        spoken = spoken.withColumnRenamed("kind", "letter")
        ends = [{"site": site, "node": node_of_site(site), "since": last} for site, last in seen.items()]
        roster = to_frame(
            self.lake.site_tables.spark,
            pa.Table.from_pylist(
                ends, pa.schema([("site", pa.string()), ("node", pa.string()), ("since", pa.int64())])
            ),
        )
        known = self._epoch() >= F.col("since")
        received = spoken.join(roster, (F.col("receiver") == F.col("node")) & known)
        sent = spoken.where("round > 0").join(roster, (F.col("sender") == F.col("node")) & known)
        return [self._shaped(received, "received", *_MESSAGE), self._shaped(sent, "sent", *_MESSAGE)]

    def _write_states(self, out: DataFrame) -> None:
        rows = self._stamped(out.where("kind = 'state'"))
        self.lake.site_tables.append(SITE_STATES, rows)

    def _write_outbox(self, out: DataFrame) -> None:
        from pyspark.sql import functions as F

        rows = self._stamped(out.where("kind = 'message'")).drop("kind").withColumnRenamed("letter", "kind")
        self.lake.site_tables.append(OUTBOX, rows.withColumn("bytes", F.octet_length("payload").cast("bigint")))

    def _stamped(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        start = to_datetime(self.plan.epoch_start)
        constants = {
            "monitor": self.plan.monitor.name, "method": self.method.name, "epoch_start": start,
            "day": start.date(), "write": self.write,
        }  # fmt: skip
        return rows.withColumns({name: F.lit(value) for name, value in constants.items()})

    def _said(self, out: DataFrame) -> list[Message]:
        rows = out.where("kind = 'message'").collect()
        return sorted(
            Message(
                self.plan.epoch, row["round"], row["sender"], row["position"], row["receiver"],
                row["letter"], row["reason"], row["entries"], bytes(row["payload"]),
            )
            for row in rows
        )  # fmt: skip

    def _read_synopses(self, seals: Sequence[Seal]) -> DataFrame:
        from pyspark.sql import functions as F

        wish, source = self.plan.inputs.wish, self.plan.source
        rows = self._sealed(SYNOPSES, seals, "synopses", of_monitor=False)
        return rows.where((F.col("source") == source.name) & (F.col("summary") == wish.name))

    def _sealed(self, table: Any, seals: Sequence[Seal], output: str, of_monitor: bool = True) -> DataFrame:
        """The rows that these seals name; as in `Lake.sealed`, but they stay in Spark."""
        from pyspark.sql import functions as F

        named = [(seal.writes[output], seal.epoch_start) for seal in seals if output in seal.writes]
        pairs = self._pairs(named, "write")
        rows = self.lake.frame(table).join(pairs, ["write", "epoch_start"])
        if of_monitor:
            rows = rows.where((F.col("monitor") == self.plan.monitor.name) & (F.col("method") == self.method.name))
        return rows

    def _pairs(self, pairs: Sequence[tuple[str, int]], name: str = "site") -> DataFrame:
        schema = pa.schema([(name, pa.string()), ("epoch_start", pa.timestamp("us", "UTC"))])
        columns = [[text for text, _ in pairs], [start for _, start in pairs]]
        return to_frame(self.lake.site_tables.spark, pa.table(columns, schema=schema))

    def _names(self, sites: Sequence[str]) -> DataFrame:
        return to_frame(self.lake.site_tables.spark, pa.table({"site": pa.array(sites, pa.string())}))

    def _epoch(self) -> Any:
        from pyspark.sql import functions as F

        clock = self.plan.chain.clock
        return ((F.unix_micros("epoch_start") - F.lit(clock.origin)) / F.lit(clock.length)).cast("bigint")

    def _shaped(self, rows: DataFrame, kind: str, *columns: str) -> DataFrame:
        """Rows of some table in the columns that the task takes; what they lack is null."""
        from pyspark.sql import functions as F

        types = dict(column.split() for column in INPUT_DDL.split(", "))
        have = {"site": F.col("site"), "kind": F.lit(kind), "epoch": self._epoch()} | {
            name: F.col(name) for name in columns
        }
        return rows.select(*(have.get(name, F.lit(None)).cast(types[name]).alias(name) for name in _COLUMNS))

    def _local(self, rows: list[dict[str, Any]]) -> DataFrame:
        """Rows of the driver's: names of sites, and messages."""
        text, number = pa.string(), pa.int64()
        kinds = {"bigint": number, "string": text, "binary": pa.binary()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in (c.split() for c in INPUT_DDL.split(", "))])
        return to_frame(self.lake.site_tables.spark, pa.Table.from_pylist(rows, schema))
