"""Step 6, validate: structure, protocol invariants and the chain, on exactly the writes that would be sealed."""

from __future__ import annotations

from jobs import quality
from jobs.chain import Chain, chain_before
from jobs.context import Context
from jobs.findings import Finding, to_rows
from jobs.handover import Handover
from jobs.lake import new_write, rows_by
from jobs.lake.content import digest_rows
from jobs.lake.records import recorded
from jobs.lake.seals import Seal
from jobs.report import say
from jobs.restoring import restore_inner
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import CodecError
from monitoring_lib.tables import DRAFTS, MESSAGES, ROSTERS, STATES, VALIDATIONS, Table

_OUTPUTS: dict[Table, tuple[str, ...]] = {
    ROSTERS: ("rosters",),
    MESSAGES: ("inbox", "messages"),
    STATES: ("states",),
    DRAFTS: ("drafts",),
}

_PART = ("write", "monitor", "epoch_start")


def validate(context: Context, handover: Handover) -> None:
    """A monitor with a critical finding is not sealed; the others go on."""
    if not handover.monitors:
        return
    with handover.timed("validate"):
        findings = [*_check_rows(context, handover)]
        for name in sorted(handover.monitors):
            findings += _check_invariants(context, handover, name)
        write = handover.writes["validations"] = new_write("validate")
        context.lake.append(VALIDATIONS, to_rows(findings, handover.source, "validate", write))
        for finding in findings:
            if not finding.success and finding.severity == "critical":
                reason = f"{finding.expectation}: {finding.detail or finding.observed}"
                # Rows that do not say whose they are may be anyone's.
                for name in [finding.monitor] if finding.monitor in handover.monitors else list(handover.monitors):
                    handover.failed.setdefault(name, reason)
                    say(f"{name}, epoch {format_time(finding.epoch_start)}: {reason}", style="red")


def _check_rows(context: Context, handover: Handover) -> list[Finding]:
    """The rows are those that were written, and every one is as its table declares."""
    findings: list[Finding] = []
    records = recorded(context.lake, handover.writes.values(), handover.span)
    for table, outputs in _OUTPUTS.items():
        writes = {handover.write_of(output) for output in outputs}
        rows = context.lake.of_writes(table, sorted(writes), handover.span)
        expected = {
            (key[0], *key[2:]): row["digest"]
            for key, row in records.items()
            if key[0] in writes and key[1] == table.name
        }
        found = {key: digest_rows(table, part.to_pylist()) for key, part in rows_by(rows, *_PART).items()}
        findings += [
            Finding(
                key[2], f"{table.name} are as written", False, monitor=key[1],
                observed=found.get(key, "no rows"), detail=f"expected {expected.get(key, 'no rows')}",
            )
            for key in sorted(expected.keys() | found.keys())
            if found.get(key) != expected.get(key)
        ]  # fmt: skip
        findings += quality.check_rows(table, rows)
    return findings


def _check_invariants(context: Context, handover: Handover, name: str) -> list[Finding]:
    """The inner nodes' states, restored as the next epoch will restore them, break no rule of their protocol."""
    source, monitor = context.config.source(handover.source), context.config.monitor(name)
    chain = chain_before(context, source, monitor, handover.monitors[name])
    last = handover.end - source.epoch
    future = [
        Seal(source.name, name, start, 0, "", {"states": handover.write_of("states")})
        for start in range(handover.monitors[name], handover.end, source.epoch)
    ]
    chosen, shadows = monitor.method_objects(source.epoch, source.scale)
    findings = []
    for method in (chosen, *shadows):
        faults: list[str] = []
        try:
            whole = Chain(source, monitor, [*chain.living(method.name), *future])
            memory = restore_inner(context.lake, whole, method)
            for node, state in sorted(memory.states.items()):
                faults += [f"{node}: {fault}" for fault in method.role(node).faults(state)]
        except CodecError as error:
            faults.append(str(error))
        findings.append(
            Finding(
                last, f"invariants of {method.name} hold", not faults, monitor=name,
                observed=f"{len(faults)} faults", detail="; ".join(faults[:5]),
            )
        )  # fmt: skip
    return findings
