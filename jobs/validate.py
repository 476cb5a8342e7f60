"""Step 6, validate: structure, protocol invariants and the chain, on exactly the writes that would be sealed."""

from __future__ import annotations

from jobs import quality
from jobs.chain import Chain, chain_before
from jobs.context import Context
from jobs.findings import Finding, to_rows
from jobs.handover import Handover
from jobs.lake import new_write
from jobs.lake.content import digest_rows
from jobs.lake.records import recorded
from jobs.lake.seals import Seal
from jobs.report import say
from jobs.restoring import restore_inner
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.errors import CodecError, FarwatchError
from monitoring_lib.tables import DRAFTS, MESSAGES, STATES, VALIDATIONS, Table

_OUTPUTS: dict[str, Table] = {"inbox": MESSAGES, "messages": MESSAGES, "states": STATES, "drafts": DRAFTS}


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
                handover.failed.setdefault(
                    finding.monitor, f"{finding.expectation}: {finding.detail or finding.observed}"
                )
                say(
                    f"{finding.monitor}, epoch {format_time(finding.epoch_start)}: {handover.failed[finding.monitor]}",
                    "red",
                )


def _check_rows(context: Context, handover: Handover) -> list[Finding]:
    """The rows are those that were written, and every one is as its table declares."""
    findings: list[Finding] = []
    records = recorded(context.lake, [handover.write_of(output) for output in _OUTPUTS])
    for output, table in _OUTPUTS.items():
        write = handover.write_of(output)
        rows = context.lake.of_writes(table, [write])
        groups: dict[tuple[str, int], list[dict[str, object]]] = {}
        for row in rows.to_pylist():
            groups.setdefault((row["monitor"], to_microseconds(row["epoch_start"])), []).append(row)
        expected = {key[2:]: row["digest"] for key, row in records.items() if key[:2] == (write, table.name)}
        for monitor, epoch_start in sorted(expected.keys() | groups.keys()):
            found = digest_rows(table, groups.get((monitor, epoch_start), []))
            if found != expected.get((monitor, epoch_start)):
                findings.append(
                    Finding(
                        epoch_start, f"{table.name} are as written", False, monitor=monitor, observed=found,
                        detail=f"expected {expected.get((monitor, epoch_start), 'no rows')}",
                    )
                )  # fmt: skip
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


def refuse_if_all_failed(handover: Handover) -> None:
    """A step on the way ends with an error only if there is nothing left to go on with."""
    left = handover.monitors.keys() - handover.failed.keys()
    if handover.failed and not left:
        name, reason = min(handover.failed.items())
        raise FarwatchError(f"{name} is not sealed: {reason}")
