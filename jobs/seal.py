"""Step 7, seal: one commit makes the run's epochs true; then their answers are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.chain import begun_anew, ground_of
from jobs.context import Context
from jobs.epoch_plan import Plan, plan
from jobs.handover import Handover
from jobs.lake import rows_by
from jobs.lake.content import digest_rows
from jobs.lake.records import recorded
from jobs.lake.seals import Seal
from jobs.publish import publish
from jobs.report import say
from monitoring_lib.config import meaning_of
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import AlreadySealed, EpochGapError, ExpectationFailed
from monitoring_lib.tables import MESSAGES


def seal(context: Context, handover: Handover) -> None:
    """Seals what passed, all of it in one commit; an error at the end if a monitor did not pass."""
    with handover.timed("seal"):
        passed = sorted(handover.monitors.keys() - handover.failed.keys())
        records = recorded(context.lake, set(handover.writes.values()), handover.span)
        seals = [one for name in passed for one in _Sealing(context, handover, name, records).seals()]
        context.lake.ledger.seal(seals, context.config.source(handover.source).epoch)
        for name in passed:
            say(f"{name}: sealed up to {format_time(handover.end)}")
        for monitor in context.config.monitors_of(handover.source):
            publish(context, handover.source, monitor.name, handover.start)
    for name, reason in sorted(handover.failed.items()):
        raise (ExpectationFailed if name in handover.monitors else EpochGapError)(f"{name} is not sealed: {reason}")


@dataclass
class _Sealing:
    """The seals of one monitor's epochs, made of what the steps before have recorded."""

    context: Context
    handover: Handover
    name: str
    records: dict[Any, dict[str, Any]]

    def seals(self) -> list[Seal]:
        lake, run = self.context.lake, plan(self.context, self.handover, self.name)
        standing = lake.ledger.seals(run.source.name, self.name, run.epoch_start, self.handover.end)
        self._refuse_changed_ground(run, standing)
        messages = self._messages(run)
        revisions = {one.epoch_start: one.revision + 1 for one in standing}
        parent = run.chain.seals[-1].digest if run.chain.seals else ""
        seals: list[Seal] = []
        for _ in run.epochs:
            revision = revisions.get(run.epoch_start, 0)
            seals.append(self._seal(run, messages.get(run.epoch_start, []), parent, revision))
            parent = seals[-1].digest
            run.advance()
        return seals

    def _refuse_changed_ground(self, run: Plan, standing: Sequence[Seal]) -> None:
        """What was sealed since the gate looked was not known to this run: it must not be sealed over."""
        given = self.handover
        if standing and all(one.write == given.write_of("drafts") for one in standing):
            return
        if ground_of(run.chain, standing) != given.grounds.get(self.name):
            raise AlreadySealed(
                f"{self.name}, epoch {format_time(run.epoch_start)}: it, or the epoch before it, was sealed by another"
                " run since this one began; `farwatch run` goes on from there"
            )

    def _messages(self, run: Plan) -> dict[int, list[dict[str, Any]]]:
        """Every epoch's traffic: its first words may be of another write than the rest."""
        writes = [self.handover.write_of("inbox"), self.handover.write_of("messages")]
        rows = self.context.lake.of_writes(MESSAGES, writes, [("monitor", "=", self.name), *self.handover.span])
        return {start: found.to_pylist() for (start,), found in rows_by(rows, "epoch_start").items()}

    def _seal(
        self, run: Plan, messages: list[dict[str, Any]], parent: str, revision: int
    ) -> Seal:  # fmt: skip
        given, start = self.handover, run.epoch_start
        first = run.epoch == run.epochs.start
        outputs = ("gate", "synopses", "rosters", "inbox", "messages", "states", "drafts", "validations")
        writes = {output: given.write_of(output) for output in outputs}
        writes["site_states"] = given.write_of("site_states" if first else "later_site_states")
        owners = {"synopses": run.inputs.wish.name} | dict.fromkeys(("site_states", "states", "drafts"), self.name)
        found = {output: self.records.get((writes[output], output, owner, start)) for output, owner in owners.items()}
        anew = sorted(run.anew) if first else []
        counts = {"answers": "drafts", "site_states": "site_states"}
        return Seal(
            run.source.name, self.name, start, revision,
            write=given.write_of("drafts"),  # of the run, not of this try: a second try finds its own seal
            writes=writes,
            digests={output: row["digest"] for output, row in found.items() if row}
            | {"messages": digest_rows(MESSAGES, messages)},
            missing_sites=run.absent(), joined_sites=run.join(), parent=parent, landing=given.landing,
            config_digest=self.context.config.digest_of(run.monitor), config=meaning_of(run.monitor, run.source),
            counts={name: (found[output] or {"rows": 0})["rows"] for name, output in counts.items()}
            | {"site_state_bytes": (found["site_states"] or {"bytes": 0})["bytes"]}
            | {"messages": len(messages), "message_bytes": sum(row["bytes"] for row in messages)}
            | {begun_anew(method): 1 for method in anew},
            times=dict(given.times),
            reason="; ".join(filter(None, [given.revise, f"{', '.join(anew)} begun anew" if anew else ""])),
        )  # fmt: skip
