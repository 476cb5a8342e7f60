"""An epoch's messages are exchanged until no node has one left to send; then its answer, as a draft."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor, moved
from jobs.epoch.handover import Handover
from jobs.epoch.inputs import Inputs
from jobs.epoch.memory import Memory
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.output import GatheredRows, Output
from jobs.epoch.reasons import with_epoch
from jobs.epoch.restoring import restore_inner
from jobs.epoch.rows import answer_rows, cursor_row, message_rows, messages_of, state_rows
from jobs.sites.choice import Places
from jobs.sites.process import ProcessSites
from jobs.sites.shared import SharedJobs
from jobs.sites.spark import SparkSites
from jobs.terminal.progress import TrackedWork, progress
from monitoring_lib.engine import InnerNodes, Settled
from monitoring_lib.engine import resolve as settle_epoch
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Method
from monitoring_lib.network import Message
from monitoring_lib.tables import CURSORS, DRAFTS, MESSAGES, OUTBOX, SITE_STATES, STATES

StoredNodes = dict[int, list[tuple[str, str]]]
"""By epoch, the nodes of which a state was stored, and in which form."""


@dataclass
class _Bookkeeping:
    """Where the states of one monitor were stored in the run, by method: its cursors are made of this."""

    sites: dict[str, StoredNodes] = field(default_factory=dict)
    inner: dict[str, StoredNodes] = field(default_factory=dict)


def first_cursors(context: Context, handover: Handover) -> Mapping[str, Cursor]:
    """As `observe` has left them after each run's first epoch."""
    if handover.local.cursors:
        return handover.local.cursors
    rows = context.lake.of_writes(
        CURSORS, [handover.write_of("site_states")], handover.span, ["monitor", "content"]
    )  # fmt: skip
    pairs = zip(rows["monitor"].to_pylist(), rows["content"].to_pylist(), strict=True)
    return {name: Cursor.from_json(content) for name, content in pairs}


@dataclass
class Resolving:
    """The methods of all monitors: those with sites in Spark together, the others one by one.

    Of the first epoch the sites have spoken already; of every further one they observe here, once the one before
    has settled. The inner nodes read messages and their own states only.
    """

    context: Context
    handover: Handover
    output: Output | GatheredRows
    jobs: SharedJobs
    places: Places
    books: dict[str, _Bookkeeping] = field(default_factory=lambda: defaultdict(_Bookkeeping))

    def in_spark(self, runs: Iterable[MonitorRun]) -> dict[str, Exception]:
        """By monitor what its methods raised."""
        pairs = [(run, method) for run in runs for method in run.methods if self._asks_spark(run, method)]
        epochs = sum(len(run.numbers) for run, _ in pairs)
        with progress("epochs settled", epochs) as work:
            failed = self.jobs.run_all(
                {
                    (run.monitor.name, method.name): partial(
                        self._resolve, run, method, self._spark_sites(run, method), work
                    )
                    for run, method in pairs
                }
            )
        return {name: error for (name, _), error in reversed(failed.items())}

    def is_in_process(self, run: MonitorRun) -> bool:
        """Whether none of a monitor's methods has its sites in Spark."""
        return not any(self._asks_spark(run, method) for method in run.methods)

    def in_process(self, run: MonitorRun, first: Cursor) -> None:
        """Those methods of a monitor whose sites are here; then what each epoch leaves to the next."""
        inputs = Inputs(self.context.lake, run)
        for method in run.methods:
            if not self._asks_spark(run, method):
                with progress(f"{run.monitor.name}, {method.name}: epochs settled", len(run.numbers)) as work:
                    self._resolve(run, method, self._process_sites(run, method, inputs), work)
        _write_cursors(self.handover, run, first, self.books[run.monitor.name], self.output)

    def _asks_spark(self, run: MonitorRun, method: Method) -> bool:
        """Sites that observed in this process stay here; others may come here to be asked, where they are small."""
        here = self.handover.local.sites.get((run.monitor.name, method.name))
        observed = self.handover.write_of("site_states")
        return not isinstance(here, ProcessSites) and self.places.asks_spark(run, method, observed)

    def _spark_sites(self, run: MonitorRun, method: Method) -> SparkSites:
        here = (run.monitor.name, method.name) in self.handover.local.sites
        observed = self.handover.write_of("site_states")
        return SparkSites.observed_before(self.jobs, run, method, self.output.write, observed, here)

    def _process_sites(self, run: MonitorRun, method: Method, inputs: Inputs) -> ProcessSites:
        """As `observe` left them: still in this process, or to be restored if they are needed at all."""
        here = self.handover.local.sites.pop((run.monitor.name, method.name), None)
        if isinstance(here, ProcessSites):
            return here.go_on(self.output.write)
        observed = self.handover.write_of("site_states")
        sites = ProcessSites(self.context.lake, run, method, inputs, self.output.write, observed)
        sites.observed_before(run.first)
        return sites

    def _resolve(self, run: MonitorRun, method: Method, sites: ProcessSites | SparkSites, work: TrackedWork) -> None:
        """One method over all epochs of the range."""
        output, books = self.output, self.books[run.monitor.name]
        memory = restore_inner(self.context.lake, run, method)
        inner = InnerNodes(method, memory.states)
        said = _first_words(self.context, self.handover, run, method)
        for epoch in run.numbers:
            if epoch > run.first:
                with with_epoch(run.start_of(epoch)):
                    said = sites.observe(epoch)
            settled = settle_epoch(run.moment(method, epoch), method, sites, inner, said)
            _store(run, method, epoch, memory, settled, output, books)
            output.add(SITE_STATES, sites.states)
            output.add(OUTBOX, sites.outbox)
            output.records += sites.records
            sites.go_on(output.write)
            work.advance()
        books.sites[method.name] = sites.stored
        faults = sites.faults()
        if faults:
            raise ProtocolError(f"invariants of {method.name} at its sites do not hold: {'; '.join(faults[:5])}")


def _first_words(context: Context, handover: Handover, run: MonitorRun, method: Method) -> list[Message]:
    """What the sites said in the first epoch."""
    said = handover.local.said.pop((run.monitor.name, method.name), None)
    if said is not None:
        return said
    rows = context.lake.of_writes(
        MESSAGES, [handover.write_of("inbox")],
        [
            ("monitor", "=", run.monitor.name), ("method", "=", method.name),
            ("epoch_start", "=", run.start_of(run.first)),
        ],
    )  # fmt: skip
    return messages_of(rows, run.clock)


def _store(
    run: MonitorRun, method: Method, epoch: int, memory: Memory, settled: Settled,
    output: Output | GatheredRows, books: _Bookkeeping
) -> None:  # fmt: skip
    """An epoch's rows. What the sites said in the range's first epoch is among the messages already."""
    name, start = run.monitor.name, run.start_of(epoch)
    messages = [message for message in settled.messages if message.round or epoch > run.first]
    output.add(MESSAGES, message_rows(messages, run.clock, name, method.name, output.write))
    if method is run.methods[0]:
        output.add(DRAFTS, answer_rows(settled.answers, start, name, method.name, output.write))
    kept = {node: memory.changed(node, state, epoch) for node, state in sorted(memory.states.items())}
    found = {node: one for node, one in kept.items() if one is not None}
    output.add(STATES, state_rows(STATES, found, start, name, method.name, output.write))
    books.inner.setdefault(method.name, {})[epoch] = [(node, one.form) for node, one in found.items()]


def _write_cursors(
    handover: Handover, run: MonitorRun, first: Cursor, books: _Bookkeeping, output: Output | GatheredRows
) -> None:  # fmt: skip
    """What each epoch leaves to the next."""
    cursor = first
    for epoch in run.numbers:
        if epoch > run.first:
            cursor = run.next_cursor(cursor, epoch)
        for method in run.methods:
            if epoch > run.first:
                stored = books.sites[method.name].get(epoch, ())
                cursor = replace(cursor, sites=moved(cursor.sites, method.name, epoch, stored))
            cursor = replace(cursor, inner=moved(cursor.inner, method.name, epoch, books.inner[method.name][epoch]))
        output.add(CURSORS, cursor_row(cursor, run.start_of(epoch), run.monitor.name, output.write))
    handover.local.cursors[run.monitor.name] = cursor
