"""`farwatch audit` as a person calls it: the audit, its report, and the exit code that it ends with."""

from __future__ import annotations

from jobs.epoch.chain import earliest
from jobs.epoch.context import Context
from jobs.looking import audit_report
from jobs.looking.sealed_chain import chain_of, landed_of
from jobs.looking.staleness import stale_part
from jobs.verbs.audit import audit
from monitoring_lib.epochs import parse_time
from monitoring_lib.errors import DamagedTable, PromiseBroken, UsageError


def run(source: str, monitors: str, start: str, end: str, sample: float, *, as_json: bool) -> None:
    """Prints the report; PromiseBroken or DamagedTable where the audit found something."""
    context = Context.from_environment()
    only = [name for name in monitors.split(",") if name]
    found = audit(context, source, only, _time("--from", start), _time("--to", end), sample)
    about, landed = context.config.source(source), landed_of(context.lake, source)
    for name in found.monitors:
        stale = stale_part(
            about, name, chain_of(context.lake, source, name), landed, earliest(about, context.config.monitor(name))
        )
        if stale is not None:
            found.stale[name] = stale.text
    audit_report.show(found, as_json)
    problems = list(found.problems())
    if problems:
        more = f"; and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        raise (PromiseBroken if found.broken else DamagedTable)(f"{problems[0]}{more}")


def _time(option: str, text: str) -> int | None:
    try:
        return parse_time(text) if text else None
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
