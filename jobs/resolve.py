"""Step 5, resolve: rounds until nobody has anything to say, then the answer of each epoch, as a draft.

Of the first epoch the sites have spoken already; of every further one they observe here, once the one before
has settled. The coordinator reads messages and its own states only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jobs.context import Context
from jobs.epoch_plan import Plan, plan
from jobs.handover import Handover
from jobs.lake import new_write
from jobs.lake.records import record
from jobs.observe import place
from jobs.process_sites import ProcessSites
from jobs.progress import progress
from jobs.restoring import Memory, restore_inner
from jobs.rows import answer_rows, message_row, messages_of
from jobs.spark_sites import SparkSites
from monitoring_lib.engine import InnerNodes, Settled
from monitoring_lib.engine import resolve as settle_epoch
from monitoring_lib.epochs import to_datetime
from monitoring_lib.methods import Method
from monitoring_lib.network import Message
from monitoring_lib.tables import DRAFTS, MESSAGES, OUTBOX, SITE_STATES, STATES, WRITES, Table

Rows = list[dict[str, Any]]


@dataclass
class Output:
    """The rows of one resolve, of all monitors, methods and epochs."""

    write: str
    site_states: Rows = field(default_factory=list)
    outbox: Rows = field(default_factory=list)
    messages: Rows = field(default_factory=list)
    states: Rows = field(default_factory=list)
    drafts: Rows = field(default_factory=list)

    @property
    def tables(self) -> dict[Table, Rows]:
        return {
            SITE_STATES: self.site_states, OUTBOX: self.outbox, MESSAGES: self.messages, STATES: self.states,
            DRAFTS: self.drafts,
        }  # fmt: skip


def resolve(context: Context, handover: Handover) -> None:
    """Settles every epoch of the range and writes messages, states and drafts; no state of a site is rewritten."""
    if not handover.monitors:
        return
    with handover.timed("resolve"):
        output = Output(new_write("resolve"))
        for name in sorted(handover.monitors):
            run = plan(context, handover, name)
            for at, method in enumerate(run.methods):
                _resolve_method(context, handover, run, method, output, publish=at == 0)
                run.rewind()
        records: Rows = []
        for table, rows in output.tables.items():
            context.lake.append(table, rows)
            records += record(table, handover.source, "resolve", rows, output.write)
        context.lake.append(WRITES, records)
        handover.writes |= dict.fromkeys(("messages", "states", "drafts", "later_site_states"), output.write)


def _resolve_method(
    context: Context, handover: Handover, run: Plan, method: Method, output: Output, publish: bool
) -> None:  # fmt: skip
    """One method over all epochs of the range."""
    memory = restore_inner(context.lake, run.chain, method)
    inner = InnerNodes(method, memory.states)
    sites = _sites(context, handover, run, method, output)
    said = _first_words(context, handover, run, method)
    with progress(f"{run.monitor.name}, {method.name}: epochs settled", len(run.epochs)) as work:
        while True:
            settled = settle_epoch(run.moment(method), method, sites, inner, said)
            first = run.epoch == run.epochs.start
            _store(run, method, memory, settled, output, publish, recorded_by_observe=first)
            work.advance()
            run.advance()
            if run.epoch not in run.epochs:
                break
            assert isinstance(sites, ProcessSites)
            said = sites.observe()
    if isinstance(sites, ProcessSites):
        output.site_states += sites.states
        output.outbox += sites.outbox


def _sites(
    context: Context, handover: Handover, run: Plan, method: Method, output: Output
) -> ProcessSites | SparkSites:  # fmt: skip
    """The sites as `observe` left them: still in this process, or to be restored if they are needed at all."""
    observed = handover.write_of("site_states")
    live = context.live.pop((observed, run.monitor.name, method.name), None)
    if isinstance(live, ProcessSites):
        return live.go_on(run, output.write)
    sites = place(context, run, method, output.write)
    sites.observed = observed
    if len(run.epochs) > 1 and isinstance(sites, ProcessSites):
        sites.restore()  # now, while the plan still stands at the epoch that they have observed
    return sites


def _first_words(context: Context, handover: Handover, run: Plan, method: Method) -> list[Message]:
    rows = context.lake.of_writes(
        MESSAGES, [handover.write_of("inbox")],
        [("monitor", "=", run.monitor.name), ("method", "=", method.name), ("epoch_start", "=", run.epoch_start)],
    )  # fmt: skip
    return messages_of(rows, run.chain.clock)


def _store(
    run: Plan, method: Method, memory: Memory, settled: Settled, output: Output, publish: bool,
    recorded_by_observe: bool,
) -> None:  # fmt: skip
    """An epoch's rows. What the sites said in the range's first epoch is among the messages already."""
    name = run.monitor.name
    output.messages += [
        message_row(message, run.chain.clock, name, method.name, output.write)
        for message in settled.messages
        if message.round or not recorded_by_observe
    ]
    if publish:
        output.drafts += answer_rows(settled.answers, run.epoch_start, name, method.name, output.write)
    for node, state in sorted(memory.states.items()):
        kept = memory.changed(node, state)
        if kept is not None:
            output.states.append(
                {
                    "monitor": name, "method": method.name, "epoch_start": to_datetime(run.epoch_start),
                    "node": node, "form": kept.form, "payload": kept.payload, "write": output.write,
                }
            )  # fmt: skip
