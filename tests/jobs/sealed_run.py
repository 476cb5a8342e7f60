"""One run of the pipeline without a JVM: the real methods' rows, written and sealed as the steps would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from jobs.context import Context
from jobs.findings import Finding, to_rows
from jobs.lake import new_write
from jobs.lake.content import digest_rows
from jobs.lake.records import record
from jobs.lake.seals import Seal
from jobs.restoring import Memory
from jobs.rows import answer_rows, message_row
from jobs.summaries import wanted_by_all
from monitoring_lib.config import Monitor, Source, meaning_of
from monitoring_lib.engine import Network, Settled
from monitoring_lib.epochs import to_datetime
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import node_of_site, site_of_node
from monitoring_lib.replay import History, Roster
from monitoring_lib.states import Kept
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tables import DRAFTS, MESSAGES, SITE_STATES, STATES, SYNOPSES, VALIDATIONS, WRITES, Table


@dataclass(frozen=True)
class Input:
    """What an epoch was run over."""

    synopses: Mapping[str, Counts]
    missing: list[str]


@dataclass
class Run:
    """One run: every step's rows under a write of its own."""

    context: Context
    source: Source
    epochs: range
    reason: str
    landing: int
    rows: dict[Table, list[dict[str, Any]]] = field(default_factory=dict)
    rosters: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    """The sites that join, by monitor and epoch."""
    absent: list[str] = field(default_factory=list)
    writes: dict[str, str] = field(
        default_factory=lambda: {
            output: new_write(output)
            for output in ("gate", "synopses", "inbox", "messages", "states", "site_states", "drafts", "validations")
        }
    )

    def start(self, epoch: int) -> datetime:
        return to_datetime(self.source.clock.start_of(epoch))

    def gate(self, missing: Mapping[str, str]) -> None:
        self.absent = sorted(missing)
        found = [
            Finding(self.source.clock.start_of(epoch), "site is fresh", False, site=site, detail=why)
            for epoch in self.epochs
            for site, why in missing.items()
        ]
        self.rows[VALIDATIONS] = to_rows(found, "shop", "gate", self.writes["gate"])

    def summarise(self, monitors: list[Monitor], synopses: Mapping[int, Mapping[str, Counts]]) -> None:
        self.rows[SYNOPSES] = [
            {
                "source": "shop", "summary": wish.name, "epoch_start": self.start(epoch),
                "day": self.start(epoch).date(), "site": site, "events": int(found.sums.sum()),
                "payload": found.to_bytes(), "write": self.writes["synopses"],
            }
            for wish in wanted_by_all(monitors, self.source)
            for epoch, by_site in synopses.items()
            for site, found in by_site.items()
        ]  # fmt: skip

    def resolve(self, monitor: Monitor, inputs: Mapping[int, Input]) -> None:
        """Every method over all epochs from the first on; rows only of the run's own."""
        chosen, shadows = monitor.method_objects(self.source.epoch, self.source.scale)
        for method in (chosen, *shadows):
            network, roster, history = Network(method), Roster(), History(method.ask.window)
            sites, inner = Memory(), Memory()
            for epoch in range(self.epochs.stop):
                given, known = inputs[epoch], set(roster.nodes)
                roster.admit(given.synopses)
                self.rosters[monitor.name, epoch] = sorted(
                    site for site in given.synopses if node_of_site(site) not in known
                )
                moment = self._moment(method, epoch, roster, given.missing)
                by_node = {node_of_site(site): found for site, found in given.synopses.items()}
                kept: dict[str, Kept | None] = {}
                network.sites.keep = partial(_note, sites, kept)
                settled = network.step(moment, *history.observe(epoch, by_node, moment.present))
                whole = {node: inner.changed(node, state) for node, state in network.inner.states.items()}
                if epoch in self.epochs:
                    self._keep(monitor, method, epoch, settled, kept, whole, publish=method is chosen)

    def _moment(self, method: Method, epoch: int, roster: Roster, missing: list[str]) -> Moment:
        clock = self.source.clock
        return Moment(
            epoch, clock.start_of(epoch), clock.end_of(epoch), method.ask.window.period_of(epoch),
            method.topology(roster.nodes), roster.nodes, frozenset(map(node_of_site, missing)) & set(roster.nodes),
        )  # fmt: skip

    def _keep(
        self, monitor: Monitor, method: Method, epoch: int, settled: Settled, sites: Mapping[str, Kept | None],
        inner: Mapping[str, Kept | None], publish: bool,
    ) -> None:  # fmt: skip
        for message in settled.messages:
            write = self.writes["messages" if message.round else "inbox"]
            self.rows.setdefault(MESSAGES, []).append(
                message_row(message, self.source.clock, monitor.name, method.name, write)
            )
        about = {"monitor": monitor.name, "method": method.name, "epoch_start": self.start(epoch)}
        for table, found in ((SITE_STATES, sites), (STATES, inner)):
            for node, kept in found.items():
                if kept is not None:
                    owner = {"site": site_of_node(node), "day": self.start(epoch).date()}
                    row = about | (owner if table is SITE_STATES else {"node": node})
                    row |= {"form": kept.form, "payload": kept.payload, "write": self.writes[table.name]}
                    self.rows.setdefault(table, []).append(row)
        if publish:
            self.rows.setdefault(DRAFTS, []).extend(
                answer_rows(
                    settled.answers, self.source.clock.start_of(epoch), monitor.name, method.name,
                    self.writes["drafts"],
                )
            )  # fmt: skip

    def validate(self, monitors: list[Monitor]) -> None:
        last = self.source.clock.start_of(self.epochs[-1])
        found = [Finding(last, "invariants hold", True, monitor=monitor.name) for monitor in monitors]
        self.rows[VALIDATIONS] += to_rows(found, "shop", "validate", self.writes["validations"])

    def store(self) -> None:
        for table, rows in self.rows.items():
            self.context.lake.append(table, rows)
        records = record(SYNOPSES, "shop", "summarise", self.rows.get(SYNOPSES, []), self.writes["synopses"])
        self.context.lake.append(WRITES, records)

    def seal(self, monitors: list[Monitor]) -> None:
        ledger = self.context.lake.ledger
        for monitor in monitors:
            standing = {one.epoch_start: one for one in ledger.seals("shop", monitor.name)}
            seals: list[Seal] = []
            for epoch in self.epochs:
                start = self.source.clock.start_of(epoch)
                before = seals[-1] if seals else standing.get(start - self.source.epoch)
                revision = standing[start].revision + 1 if start in standing else 0
                seals.append(self._seal(monitor, epoch, revision, before.digest if before else ""))
            ledger.seal(seals, self.source.epoch)

    def _seal(self, monitor: Monitor, epoch: int, revision: int, parent: str) -> Seal:
        key = (monitor.name, self.start(epoch))
        own = {
            table: [row for row in rows if (row.get("monitor"), row["epoch_start"]) == key]
            for table, rows in self.rows.items()
        }
        known = {site for at in range(epoch + 1) for site in self.rosters[monitor.name, at]}
        sent = sum(row["bytes"] for row in own.get(MESSAGES, []))
        return Seal(
            "shop", monitor.name, self.source.clock.start_of(epoch), revision, self.writes["drafts"], self.writes,
            {table.name: digest_rows(table, rows) for table, rows in own.items() if rows and table is not VALIDATIONS},
            missing_sites=sorted(known.intersection(self.absent)),
            joined_sites=self.rosters[monitor.name, epoch], parent=parent, landing=self.landing,
            config_digest=self.context.config.digest_of(monitor), config=meaning_of(monitor, self.source),
            counts={"answers": len(own.get(DRAFTS, [])), "message_bytes": sent}, reason=self.reason,
        )  # fmt: skip


def _note(memory: Memory, kept: dict[str, Kept | None], node: str, state: Any) -> None:
    """What of a site's state must be stored once it has observed."""
    kept[node] = memory.changed(node, state)
