"""The sites' side in Spark's tasks: sites are dealt over partitions, and only what they say comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.epoch.checked import WantedParts
from jobs.epoch.inputs import arriving_epochs, expiring_epochs, summary_name, took_part
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.rows import message_rows, table_of
from jobs.lake.records import record
from jobs.sites.needed import Needed
from jobs.sites.shared import DIGEST, SIZE, SharedJobs, SiteWork
from jobs.sites.task import Does, SiteTask
from monitoring_lib.answers import Answers
from monitoring_lib.epochs import to_datetime
from monitoring_lib.methods import Method
from monitoring_lib.network import Message, node_of_site, site_of_node
from monitoring_lib.tables import MESSAGES, OUTBOX, SITE_STATES, SYNOPSES


@dataclass
class SparkSites:
    """The sites of one monitor and method. Rows of states are written at once, what the sites say waits in `outbox`."""

    jobs: SharedJobs
    run: MonitorRun
    method: Method
    step: str
    write: str
    epoch: int = -1
    states: list[pa.Table] = field(default_factory=list)
    """None wait: Spark's tasks have written them."""
    outbox: list[pa.Table] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    """Of the states that were written."""
    stored: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    """By epoch, the sites of which a state was stored, and in which form."""
    _rows: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """By site, once asked for, the rows that its state is restored from: epoch starts and writes, the base first."""
    _exchanged: set[Message] = field(default_factory=set)
    """Of the run's epochs, what came to sites and what they said in return; in a mesh one message may be both."""
    _unchecked: str | None = ""
    """Until the states that are read first are compared with what was recorded: the write of this run among them."""
    _published: tuple[Answers, list[str]] | None = None

    @classmethod
    def observed_before(
        cls, jobs: SharedJobs, run: MonitorRun, method: Method, write: str, observed: str, here: bool
    ) -> SparkSites:
        """Sites that have observed the run's first epoch under `observed`, in the step before: in this process?"""
        sites = cls(jobs, run, method, "resolve", write, epoch=run.first, _unchecked=None if here else observed)
        for site in run.present(run.first):
            sites._rows[site] = [*sites._rows_of(site), (run.start_of(run.first), observed)]
        return sites

    def go_on(self, write: str) -> SparkSites:
        """The same sites, once what waited has been taken."""
        self.write, self.outbox, self.records = write, [], []
        return self

    def observe(self, epoch: int) -> list[Message]:
        """Every present site takes in the epoch; what they say on their own account."""
        present = self.run.present(epoch)
        seen = {site: self.run.last_seen(site, epoch) for site in present}
        self.epoch, self._published = epoch, None
        self._forget(seen.values())
        self._check_inputs(seen)
        found = self._ask("observe", partial(self._fill_observing, seen), min(self._since(seen), epoch))
        self._note_states(found.filter(pc.equal(found["kind"], "state")))
        return self._said(found)

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        """The asked sites are restored as they were after they observed, and hear this epoch's rounds again."""
        self._exchanged.update(*inbox.values())
        present = set(map(node_of_site, self.run.present(self.epoch)))
        asked = sorted(site_of_node(node) for node in inbox if node in present)
        if not asked:
            return []
        said = self._said(self._ask("exchange", partial(self._fill_asked, asked)))
        self._exchanged.update(said)
        return said

    def take_upkeep(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> None:
        """Heard again, from the messages, before a site next observes."""
        self._exchanged.update(*inbox.values())

    def answers(self) -> Answers:
        return self._publish()[0] if self.method.site.publishes else Answers.of()

    def faults(self) -> list[str]:
        """Invariants that the states of sites which publish break."""
        return self._publish()[1] if self.method.site.publishes else []

    def _publish(self) -> tuple[Answers, list[str]]:
        if self._published is None:
            rows = self._ask("answer", partial(self._fill_asked, self.run.present(self.epoch)))
            said = rows.filter(pc.equal(rows["kind"], "answer")).select(Answers.schema.names)
            wrong = rows.filter(pc.equal(rows["kind"], "fault"))
            faults = zip(wrong["site"].to_pylist(), wrong["reason"].to_pylist(), strict=True)
            self._published = Answers(said.cast(Answers.schema)), [f"{site}: {fault}" for site, fault in sorted(faults)]
        return self._published

    def _ask(self, does: Does, fill: Any, since: int | None = None) -> pa.Table:
        self._check_states()
        first = self.epoch if since is None else since
        moments = {at: self.run.moment(self.method, at) for at in range(first, self.epoch + 1)}
        task = SiteTask(self.method, does, self.epoch, moments)
        return self.jobs.ask(SiteWork(self.run, task, self.write, fill))

    def _check_states(self) -> None:
        """The rows that the sites are restored from are those that were sealed, and those that were just stored."""
        if self._unchecked is None:
            return
        run, method = self.run, self.method.name
        stored = {} if method in run.plan.anew else run.plan.cursor.sites.get(method, {})
        sites = {site for number in run.numbers for site in run.present(number)}
        epochs = {at for site in sites & stored.keys() for at in range(stored[site].base, stored[site].last + 1)}
        wanted = WantedParts(run, SITE_STATES, run.monitor.name, method).sealed(["site_states"], epochs)
        if self._unchecked:
            wanted.written(self.jobs.lake, self._unchecked, [run.first])
        self._unchecked = None
        wanted.check(self.jobs.lake)

    def _check_inputs(self, seen: Mapping[str, int]) -> None:
        """So are the synopses and the messages that the sites are about to take in."""
        run, lake = self.run, self.jobs.lake
        epochs = {at for _, at in (*self._cells(seen, arriving_epochs), *self._cells(seen, expiring_epochs))}
        wanted = WantedParts(run, SYNOPSES, summary_name(run, self.method))
        wanted.sealed(["synopses"], {at for at in epochs if at < run.first})
        wanted.written(lake, run.synopses, {at for at in epochs if at >= run.first}).check(lake)
        heard = WantedParts(run, MESSAGES, run.monitor.name, self.method.name)
        heard.sealed(["inbox", "messages"], range(self._since(seen), run.first)).check(lake)

    def _cells(self, sites: Iterable[str], epochs: Callable[..., range]) -> list[tuple[str, int]]:
        """Of these sites the epochs whose synopses arrive, or expire."""
        run = self.run
        found = ((site, at) for site in sites for at in epochs(run, self.method, site, self.epoch))
        return [(site, at) for site, at in found if took_part(run, site, at)]

    def _fill_observing(self, seen: Mapping[str, int], needed: Needed, owner: int) -> None:
        run, method = self.run, self.method
        needed.sites(owner, seen)
        needed.states(owner, run, method, self._state_rows(seen))
        summary = summary_name(run, method)
        for into, epochs in (("arriving", arriving_epochs), ("expiring", expiring_epochs)):
            cells = self._cells(seen, epochs)
            needed.synopses(owner, into, summary, [(site, run.start_of(at), self._synopses(at)) for site, at in cells])
        spoken = [
            (run.start_of(at), write)
            for at in range(self._since(seen), run.first)
            for write in sorted({run.past(at).writes["inbox"], run.past(at).writes["messages"]})
        ]
        if spoken:
            needed.messages(owner, run, method, spoken, seen.items())
        self._fill_exchanged(needed, owner, seen)

    def _fill_exchanged(self, needed: Needed, owner: int, seen: Mapping[str, int]) -> None:
        """The messages of earlier epochs of the run, which are not in the tables yet."""
        nodes = {node_of_site(site): site for site in seen}
        for message in sorted(self._exchanged):
            for kind, ends in (("received", message.receivers), ("sent", (message.sender,) if message.round else ())):
                for node in ends:
                    if node in nodes and message.epoch >= seen[nodes[node]]:
                        needed.message(owner, nodes[node], kind, message)

    def _fill_asked(self, sites: Iterable[str], needed: Needed, owner: int) -> None:
        asked = {node_of_site(site): site for site in sites}
        needed.sites(owner, asked.values())
        needed.states(owner, self.run, self.method, self._state_rows(asked.values()))
        for message in sorted(self._exchanged):
            for node in message.receivers:
                if node in asked and message.epoch == self.epoch:
                    needed.message(owner, asked[node], "received", message)

    def _since(self, seen: Mapping[str, int]) -> int:
        """The first epoch whose messages some site has yet to hear."""
        first = self.run.plan.cursor.first
        return max(min(seen.values(), default=self.epoch), self.run.begun(self.method.name), first)

    def _state_rows(self, sites: Iterable[str]) -> list[tuple[str, int, str]]:
        return [(site, *row) for site in sites for row in self._rows_of(site)]

    def _rows_of(self, site: str) -> list[tuple[int, str]]:
        if site not in self._rows:
            run, name = self.run, self.method.name
            one = None if name in run.plan.anew else run.plan.cursor.sites.get(name, {}).get(site)
            epochs = range(one.base, one.last + 1) if one is not None else ()
            self._rows[site] = [(run.start_of(epoch), run.past(epoch).writes["site_states"]) for epoch in epochs]
        return self._rows[site]

    def _synopses(self, epoch: int) -> str:
        return self.run.synopses if epoch >= self.run.first else self.run.past(epoch).writes["synopses"]

    def _note_states(self, found: pa.Table) -> None:
        start = self.run.start_of(self.epoch)
        stored = sorted(zip(found["site"].to_pylist(), found["form"].to_pylist(), strict=True))
        self.stored[self.epoch] = stored
        for site, form in stored:
            self._rows[site] = [*(self._rows_of(site) if form == "change" else ()), (start, self.write)]
        names = {"monitor": self.run.monitor.name, "method": self.method.name}
        day = to_datetime(start).date()
        rows = _fingerprints(found, names | {"epoch_start": to_datetime(start), "day": day, "write": self.write})
        self.records += record(SITE_STATES, self.run.source.name, self.step, rows, self.write)

    def _said(self, found: pa.Table) -> list[Message]:
        rows = found.filter(pc.equal(found["kind"], "message")).to_pylist()
        said = sorted(
            Message(
                self.epoch, row["round"], row["sender"], row["position"], tuple(row["receivers"]),
                row["letter"], row["reason"], row["entries"], row["payload"],
            )
            for row in rows
        )  # fmt: skip
        self.outbox.append(
            message_rows(said, self.run.clock, self.run.monitor.name, self.method.name, self.write, OUTBOX)
        )
        return said

    def _forget(self, seen: Iterable[int]) -> None:
        """Messages that every site has taken in before it last observed."""
        oldest = min(seen, default=self.epoch)
        self._exchanged = {message for message in self._exchanged if message.epoch >= oldest}


def _fingerprints(found: pa.Table, constants: Mapping[str, Any]) -> pa.Table:
    """Rows of states with a digest in the place of each payload, and its size."""
    given = {**constants, "site": found["site"], "form": found["form"], "payload": None}
    rows = table_of(SITE_STATES, found.num_rows, given)
    at = rows.schema.get_field_index("payload")
    return rows.set_column(at, "payload", found[DIGEST]).append_column(SIZE, found[SIZE])
