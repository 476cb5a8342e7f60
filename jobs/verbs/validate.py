"""Step 6, validate: structure and protocol invariants, on exactly the writes that would be sealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs import quality
from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor
from jobs.epoch.handover import Handover
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.plan import PastEpoch
from jobs.epoch.restoring import restore_inner
from jobs.epoch.runs import runs_of
from jobs.lake import new_write
from jobs.lake.checking import differences
from jobs.lake.conditions import RowCondition
from jobs.lake.records import Part, digest_key, recorded, recorded_once
from jobs.quality.findings import Finding, to_rows
from jobs.terminal.console import say
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import CodecError, ExpectationFailed
from monitoring_lib.tables import CURSORS, DRAFTS, MESSAGES, ROSTERS, STATES, VALIDATIONS, Table

_OUTPUTS: dict[Table, tuple[str, ...]] = {
    ROSTERS: ("rosters",),
    MESSAGES: ("inbox", "messages"),
    STATES: ("states",),
    CURSORS: ("cursors",),
    DRAFTS: ("drafts",),
}
_MOST_ROWS = 200_000
"""Rows that are read back at a time."""

Records = Mapping[Part, dict[str, Any]]


def validate(context: Context, handover: Handover) -> None:
    """A monitor with a critical finding is not sealed; the others go on."""
    if not handover.running:
        return
    with handover.timed("validate"):
        findings: list[Finding] = []
        for table, outputs in _OUTPUTS.items():
            findings += _check_table(context, handover, table, [handover.write_of(output) for output in outputs])
        for name, run in runs_of(context, handover).items():
            with handover.alone(name):
                findings += _check_invariants(context, handover, run)
        write = handover.writes["validations"] = new_write("validate")
        context.lake.append(VALIDATIONS, to_rows(findings, handover.source, "validate", write))
        for finding in findings:
            if not finding.success and finding.severity == "critical":
                _fail(handover, finding)


def _fail(handover: Handover, finding: Finding) -> None:
    reason = f"{finding.expectation}: {finding.detail or finding.observed}"
    # Rows that do not say whose they are may be anyone's.
    for name in [finding.monitor] if finding.monitor in handover.monitors else handover.running:
        if name not in handover.failed:
            handover.fail(name, ExpectationFailed(reason))
        else:
            say(f"{name}, epoch {format_time(finding.epoch_start)}: {reason}", style="red")


def _check_table(context: Context, handover: Handover, table: Table, writes: list[str]) -> list[Finding]:
    """The rows are those that were written, and every one is as its table declares."""
    here = handover.local.written.get(table.name, [])
    if handover.local.resolved and here is not None:
        rows = pa.concat_tables([table.schema.empty_table(), *here])
        return quality.check_rows(table, _of_run(handover, rows, writes))
    findings: list[Finding] = []
    records = recorded(context.lake, writes, handover.span)
    for span in _spans(context, handover, table, records):
        rows = _of_run(handover, context.lake.of_writes(table, writes, span), writes)
        findings += _changed(handover, table, rows, records, span)
        findings += quality.check_rows(table, rows)
    return findings


def _of_run(handover: Handover, rows: pa.Table, writes: list[str]) -> pa.Table:
    """Rows of these writes whose monitors have not failed; a monitor that nobody knows stays, to be found."""
    gone = pa.array(sorted(handover.failed), pa.string())
    return rows.filter(
        pc.and_(
            pc.is_in(rows["write"], value_set=pa.array(writes, pa.string())),
            pc.invert(pc.is_in(rows["monitor"], value_set=gone)),
        )
    )


def _spans(context: Context, handover: Handover, table: Table, records: Records) -> Iterator[list[RowCondition]]:
    """The run's epochs in parts of not too many rows."""
    length = context.config.source(handover.source).epoch
    rows: dict[int, int] = {}
    for part, one in records.items():
        if part.output in (*_OUTPUTS[table], table.name):
            rows[part.epoch_start] = rows.get(part.epoch_start, 0) + one["rows"]
    first, many = handover.start, 0
    for start in range(handover.start, handover.end, length):
        many += rows.get(start, 0)
        if many > _MOST_ROWS or start + length == handover.end:
            yield [("epoch_start", ">=", first), ("epoch_start", "<", start + length)]
            first, many = start + length, 0


def _changed(
    handover: Handover, table: Table, rows: pa.Table, records: Records, span: list[RowCondition]
) -> list[Finding]:  # fmt: skip
    """Parts of the table that are not as they were recorded when they were written."""
    ends = [int(value) for _, _, value in span]  # type: ignore[arg-type]  # both are times
    names = {table.name, *_OUTPUTS[table]}
    expected = {
        part: row["digest"]
        for part, row in records.items()
        if part.output in names and ends[0] <= part.epoch_start < ends[1] and part.owner not in handover.failed
    }
    return [
        Finding(
            one.part.epoch_start, f"{table.name} are as written", False, monitor=one.part.owner,
            observed=f"{one.rows} rows", detail=one.text,
        )
        for one in differences(table, rows, expected)
    ]  # fmt: skip


def _check_invariants(context: Context, handover: Handover, run: MonitorRun) -> list[Finding]:
    """The inner nodes' states, restored as the next epoch will restore them, break no rule of their protocol."""
    written = _written(context, handover, run)
    later = run.after(_last_cursor(context, handover, run), written)
    findings = []
    for method in later.methods:
        faults: list[str] = []
        try:
            for node, state in sorted(restore_inner(context.lake, later, method).states.items()):
                faults += [f"{node}: {fault}" for fault in method.role(node).faults(state)]
        except CodecError as error:
            faults.append(str(error))
        findings.append(
            Finding(
                run.start_of(run.numbers[-1]), f"invariants of {method.name} hold", not faults,
                monitor=run.monitor.name, observed=f"{len(faults)} faults", detail="; ".join(faults[:5]),
            )
        )  # fmt: skip
    return findings


def _written(context: Context, handover: Handover, run: MonitorRun) -> list[PastEpoch]:
    """The epochs of the run as the next one will find them, as far as states go."""
    write, digests = handover.write_of("states"), dict[int, dict[str, str]]()
    for part, row in recorded_once(context.lake, write, handover.span).items():
        if (part.output, part.owner) == ("states", run.monitor.name):
            digests.setdefault(part.epoch_start, {})[digest_key(part.output, part.method)] = row["digest"]
    return [
        PastEpoch(number, {"states": write}, digests=digests.get(run.start_of(number), {})) for number in run.numbers
    ]


def _last_cursor(context: Context, handover: Handover, run: MonitorRun) -> Cursor:
    """What the run's last epoch leaves to the next."""
    if handover.local.resolved:
        return handover.local.cursors[run.monitor.name]
    conditions: list[RowCondition] = [
        ("monitor", "=", run.monitor.name), ("epoch_start", "=", run.start_of(run.numbers[-1])),
    ]  # fmt: skip
    rows = context.lake.of_writes(CURSORS, [handover.write_of("cursors")], conditions, ["content"])
    if rows.num_rows != 1:
        raise ExpectationFailed(f"{rows.num_rows} cursors of the last epoch were found where one was written")
    return Cursor.from_json(rows["content"][0].as_py())
