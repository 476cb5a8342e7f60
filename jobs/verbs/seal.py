"""Step 7, seal: one atomic commit publishes the run's epochs; then their answers are copied for readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jobs.epoch.airflow_task import airflow_run
from jobs.epoch.chain import ground_of
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.inputs import summaries_of
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.plan import PlannedEpoch
from jobs.epoch.planning import DECIDED, OWED
from jobs.epoch.publish import publish
from jobs.epoch.runs import runs_of
from jobs.lake.records import Part, digest_key, recorded
from jobs.lake.seals import Seal
from jobs.terminal.console import say
from jobs.terminal.wording import listed
from monitoring_lib.config import meaning_of
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import AlreadySealed, DamagedTable, EpochGapError

_OUTPUTS = ("gate", "synopses", "rosters", "inbox", "messages", "states", "cursors", "drafts", "validations")
_OWN = ("inbox", "messages", "site_states", "states", "rosters", "cursors", "drafts")
"""Outputs whose records are of the monitor itself."""


def seal(context: Context, handover: Handover) -> None:
    """Seals what passed, all of it in one commit; an error at the end if a monitor did not pass."""
    with handover.timed("seal"):
        records = recorded(context.lake, set(handover.writes.values()), handover.span)
        runs = runs_of(context, handover)
        seals: list[Seal] = []
        for name, run in runs.items():
            with handover.alone(name):
                seals += _Sealing(context, handover, run, records).seals()
        runs = {name: run for name, run in runs.items() if name not in handover.failed}
        context.lake.ledger.seal(seals, context.config.source(handover.source).epoch)
        for name, run in runs.items():
            missing = run.missing(run.numbers[-1])
            as_of = f", as of each missing site's last report ({listed(missing)})" if missing else ""
            say(f"{name}: sealed up to {format_time(handover.end)}{as_of}")
        for monitor in context.config.monitors_of(handover.source):
            publish(context, handover.source, monitor.name, handover.start)
        handover.sealed = list(runs)
    gaps = [reason for name, reason in sorted(handover.failed.items()) if name not in handover.monitors]
    failure = handover.failure()
    if failure is not None:
        raise EpochGapError(str(failure)) if len(gaps) == len(handover.failed) else failure


@dataclass
class _Sealing:
    """The seals of one monitor's epochs, made of what the steps before have recorded."""

    context: Context
    handover: Handover
    run: MonitorRun
    records: Mapping[Part, dict[str, Any]]

    def seals(self) -> list[Seal]:
        self._refuse_changed_ground()
        parent = self.run.plan.parent
        seals: list[Seal] = []
        for epoch in self.run.numbers:
            seals.append(self._seal(epoch, parent))
            parent = seals[-1].digest
        return seals

    def _refuse_changed_ground(self) -> None:
        """What was sealed since the gate looked was not known to this run: it must not be sealed over."""
        run, given, ledger = self.run, self.handover, self.context.lake.ledger
        start, source = run.start_of(run.first), run.source
        standing = ledger.seals(source.name, run.monitor.name, start, given.end)
        if standing and all(one.write == given.write_of("drafts") for one in standing):
            return
        before = ledger.seals(source.name, run.monitor.name, start - source.epoch, start)
        if ground_of(before[0].digest if before else "", standing) != run.plan.ground:
            raise AlreadySealed(
                f"{run.monitor.name}, epoch {format_time(start)}: it, or the epoch before it, was sealed by another"
                " run since this one began; `farwatch run` goes on from there"
            )

    def _seal(self, epoch: int, parent: str) -> Seal:
        given, run, one = self.handover, self.run, self.run.planned(epoch)
        first = epoch == run.first
        writes = {output: given.write_of(output) for output in _OUTPUTS}
        writes["site_states"] = given.write_of("site_states" if first else "later_site_states")
        if not first:
            writes["inbox"] = writes["messages"]
        found = self._found(epoch, writes)
        anew = run.plan.anew if first else ()
        return Seal(
            run.source.name, run.monitor.name, run.start_of(epoch), one.revision,
            write=given.write_of("drafts"),  # of the run, not of this try: a second try finds its own seal
            writes=writes,
            digests={digest_key(part.output, part.method): row["digest"] for part, row in found.items()}
            | self._synopses(epoch, writes)
            | ({"arrivals": one.arrivals} if one.arrivals else {}),
            missing_sites=one.missing, joined_sites=[member.site for member in one.joined], parent=parent,
            landing=given.landing, config_digest=self.context.config.digest_of(run.monitor),
            config=meaning_of(run.monitor, run.source), counts=_counts(found) | ({OWED: one.owed} if one.owed else {})
            | ({DECIDED: one.decided} if one.decided else {}),
            times=dict(given.times), checked=run.plan.checked, run=airflow_run(),
            reason="; ".join(
                filter(None, [given.revise, f"{', '.join(anew)} begun anew" if anew else "", *_moves(one)])
            ),
        )  # fmt: skip

    def _found(self, epoch: int, writes: Mapping[str, str]) -> dict[Part, dict[str, Any]]:
        name, start = self.run.monitor.name, self.run.start_of(epoch)
        methods = ["", *(method.name for method in self.run.methods)]
        parts = [Part(writes[output], output, name, method, start) for output in _OWN for method in methods]
        found = {part: self.records[part] for part in parts if part in self.records}
        if not any(part.output == "cursors" for part in found):
            raise DamagedTable(
                f"{name}, epoch {format_time(start)}: the table `writes` lacks what this run has recorded in it; rows"
                " were lost while it ran: run it again"
            )
        return found

    def _synopses(self, epoch: int, writes: Mapping[str, str]) -> dict[str, str]:
        """A digest for each summary that the monitor's methods take in, '' where nothing happened."""
        start = self.run.start_of(epoch)
        found = {name: self.records.get(Part(writes["synopses"], "synopses", name, "", start)) for name in self._taken}
        return {digest_key("synopses", name): row["digest"] if row else "" for name, row in found.items()}

    @cached_property
    def _taken(self) -> list[str]:
        return summaries_of(self.run)


def _moves(epoch: PlannedEpoch) -> Iterator[str]:
    """Who has left with an epoch, and who is back."""
    if epoch.left:
        yield f"retired: {listed(epoch.left)}"
    if epoch.back:
        yield f"back: {listed(epoch.back)}"


def _counts(found: Mapping[Part, dict[str, Any]]) -> dict[str, int]:
    def total(column: str, outputs: Sequence[str]) -> int:
        return sum(row[column] for part, row in found.items() if part.output in outputs)

    return {
        "answers": total("rows", ["drafts"]), "site_states": total("rows", ["site_states"]),
        "site_state_bytes": total("bytes", ["site_states"]), "messages": total("rows", ["inbox", "messages"]),
        "message_bytes": total("bytes", ["inbox", "messages"]),
    }  # fmt: skip
