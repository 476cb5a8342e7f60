"""`farwatch audit`: exact answers from the landed events, verdicts on sealed ones, the integrity of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pyarrow as pa

from jobs.alerting.audited import audit_troubles
from jobs.alerting.sinks import deliver, names_of
from jobs.alerting.troubles import Look
from jobs.alerting.turns import store
from jobs.auditing.course import Course
from jobs.auditing.landed import check_journal
from jobs.auditing.ledger import check_ledger
from jobs.auditing.result import Audit
from jobs.auditing.scope import AuditScope, EpochSlice, scope_of
from jobs.epoch.context import Context
from jobs.lake import Lake, new_write, rows_by
from jobs.lake.records import record
from jobs.quality.findings import to_rows
from jobs.terminal.progress import progress
from monitoring_lib.config import Monitor
from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import UsageError
from monitoring_lib.suggest import nearest
from monitoring_lib.tables import AUDITS, VALIDATIONS, VERDICTS, WRITES


def audit(
    context: Context, source: str, only: Sequence[str] = (), start: int | None = None, end: int | None = None,
    sample: float = 1.0,
) -> Audit:  # fmt: skip
    """Judges the sealed epochs of ``[start, end)``, a share of them where `sample` is below 1, and writes verdicts."""
    if not 0 < sample <= 1:
        raise UsageError(f"--sample {sample:g}: write a share above 0 and at most 1, such as 0.1")
    lake, about = context.lake, context.config.source(source)
    monitors = _monitors(context, source, only)
    found = Audit(source, sample, new_write("audit"))
    found.findings += check_ledger(lake, about)
    if not found.findings:  # without the ledger nothing else can be read
        _judge(lake, scope_of(lake, about, monitors, start, end, sample), found)
    lake.append(VALIDATIONS, to_rows(found.all_findings, source, "audit", found.write))
    _alert(context, found, whole=start is None and end is None and sample == 1)
    return found


def _judge(lake: Lake, scope: AuditScope, found: Audit) -> None:
    found.findings += check_journal(lake, scope)
    course = Course(lake, scope, found)
    epochs = sum(chunk.stop - chunk.start for chunk in scope.chunks)
    with progress(f"{scope.source.name}: epochs audited", epochs) as work:
        for chunk, verdicts in course.chunks():
            _store(lake, scope, found, chunk, verdicts)
            work.advance(chunk.stop - chunk.start)


def _alert(context: Context, found: Audit, whole: bool) -> None:
    """What the last audit of each epoch has found; only one of all epochs can clear the source itself."""
    alerts = context.config.settings.alerts
    look = Look(
        None, ("promise broken", "integrity"), list(audit_troubles(context.lake, found)),
        [*found.monitors, *([""] if whole or found.findings else [])],
    )  # fmt: skip
    store(context.lake, found.source, [look], names_of(alerts.sinks), alerts.remind)
    deliver(context, found.source)


def _monitors(context: Context, source: str, only: Sequence[str]) -> list[Monitor]:
    known = context.config.monitors_of(source)
    for name in only:
        if name not in {monitor.name for monitor in known}:
            raise UsageError(f"{name!r} is no monitor of {source}{nearest(name, [one.name for one in known])}")
    return [monitor for monitor in known if not only or monitor.name in only]


def _store(lake: Lake, scope: AuditScope, found: Audit, chunk: EpochSlice, verdicts: pa.Table) -> None:
    """The verdicts of a chunk, then what they come to: epochs that the second table names are audited."""
    rows = verdicts.append_column("write", pa.repeat(found.write, verdicts.num_rows)).select(list(VERDICTS.columns))
    lake.append(VERDICTS, rows)
    lake.append(WRITES, record(VERDICTS, scope.source.name, "audit", rows, found.write))
    lake.append(AUDITS, list(_audited(lake, scope, found, chunk, rows)))


def _audited(
    lake: Lake, scope: AuditScope, found: Audit, chunk: EpochSlice, verdicts: pa.Table
) -> Iterable[dict[str, object]]:
    clock, now = scope.source.clock, datetime.now(UTC)
    start, end = clock.start_of(chunk.start), clock.start_of(chunk.stop)
    judged = rows_by(verdicts, "monitor", "epoch_start")
    for result in found.monitors.values():
        for seal in lake.ledger.seals(scope.source.name, result.monitor, start, end, scope.version):
            part = judged.get((result.monitor, seal.epoch_start))
            if part is not None:
                yield {
                    "source": scope.source.name, "monitor": result.monitor,
                    "epoch_start": to_datetime(seal.epoch_start), "revision": seal.revision, "seal": seal.digest,
                    "verdicts": part.num_rows, "broken": result.epochs[seal.epoch_start],
                    "damaged": sum(1 for one in result.findings if one.epoch_start == seal.epoch_start),
                    "audited_at": now, "write": found.write,
                }  # fmt: skip
