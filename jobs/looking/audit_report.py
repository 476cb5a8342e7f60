"""An audit as a person reads it: what was checked, what was kept, the worst errors, what to do; and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jobs.auditing.result import Audit, Broken, MonitorResult, Observed
from jobs.looking import printing
from jobs.terminal.wording import counted, number, printable
from monitoring_lib.epochs import format_time

if TYPE_CHECKING:
    from rich.table import Table

_MOST_LINES = 20
_LONGEST = 400


def show(audit: Audit, as_json: bool) -> None:
    if as_json:
        printing.print_json(to_plain(audit))
        return
    printing.line(_head(audit), "bold")
    if audit.monitors:
        printing.show(_promises(audit))
    for line in _breaches(audit):
        printing.line(line, "red")
    for line in _damage(audit):
        printing.line(line, "red")
    printing.line(_end(audit), "green" if audit.is_sound else "bold red")


def _head(audit: Audit) -> str:
    rows = sum(count for name, count in audit.checked.items() if name != "events")
    share = "" if audit.sample >= 1 else f", a sample of {audit.sample:g} of the epochs"
    epochs = sum(len(one.epochs) for one in audit.monitors.values())
    return (
        f"{audit.source}: {counted(epochs, 'answer')} of {counted(len(audit.monitors), 'monitor')} judged against"
        f" {counted(audit.checked['events'], 'landed event')}, {counted(rows, 'sealed row')} checked{share}"
    )


def _promises(audit: Audit) -> Table:
    from rich.text import Text

    found = printing.table("monitor", "method", "promise", "promised", "kept", "worst error", "allowed", "epochs",
                           right=("promised", "kept", "worst error", "allowed", "epochs"))  # fmt: skip
    for result in audit.monitors.values():
        for at, one in enumerate(result.observed.values()):
            first = (result.monitor, result.method) if not at else ("", "")
            epochs = f"{result.kept:,} of {len(result.epochs):,}" if not at else ""
            cells = (*first, one.promise, _share(one.confidence), _kept(one), number(one.error), number(one.allowed))
            found.add_row(*map(Text, (*cells, epochs)))
    return found


def _share(confidence: float) -> str:
    return "always" if confidence == 1 else f"{confidence:.1%}"


def _kept(one: Observed) -> str:
    kept = one.judged - one.broken
    return f"{kept:,} of {one.judged:,}" if one.confidence == 1 else f"{kept / one.judged:.1%} of {one.judged:,}"


def _breaches(audit: Audit) -> Iterator[str]:
    for result in audit.broken:
        for one in result.breaches:
            allowed = "" if one.confidence == 1 else f", where chance explains {one.most_broken:,}"
            yield f"{result.monitor}: '{one.promise}' was broken {one.broken:,} times of {one.judged:,}{allowed}"
        breached = {(one.promise, one.confidence) for one in result.breaches}
        told = [one for one in result.broken if (one.verdict.promise, one.verdict.confidence) in breached]
        for each in told[:_MOST_LINES]:
            yield f"  {_verdict(each)}"
        yield f"  {_remedy(audit, result)}"


def _verdict(one: Broken) -> str:
    verdict = one.verdict
    whose = f"'{printable(verdict.key)}'" if verdict.key else "the answer"
    return (
        f"epoch {format_time(one.epoch_start)}, {whose} of {printable(verdict.node)}: exact {number(verdict.exact)},"
        f" error {number(verdict.error)}, allowed {number(verdict.allowed)}"
    )


def _remedy(audit: Audit, result: MonitorResult) -> str:
    if result.monitor in audit.stale:
        return audit.stale[result.monitor]
    first = format_time(min(one.epoch_start for one in result.broken))
    return (
        f"look at it with `farwatch query {result.monitor} --epoch {first}` and `farwatch inspect {result.monitor}"
        f" --epoch {first}`; if the rows are sound, the method `{result.method}` is at fault: report it, and let the"
        " monitor run another one"
    )


def _damage(audit: Audit) -> Iterator[str]:
    findings = audit.all_findings
    for one in findings[:_MOST_LINES]:
        yield (
            f"{one.monitor or audit.source}, epoch {format_time(one.epoch_start)}: {one.expectation} does not hold:"
            f" {printable(one.observed, _LONGEST)}. {printable(one.detail, _LONGEST)}"
        )
    if len(findings) > _MOST_LINES:
        yield f"… and {len(findings) - _MOST_LINES:,} more; --json gives all"


def _end(audit: Audit) -> str:
    epochs = sum(len(one.epochs) for one in audit.monitors.values())
    kept = sum(one.kept for one in audit.monitors.values())
    if not epochs and audit.findings:
        return "the ledger is damaged, so nothing was judged"
    if not epochs:
        return "nothing is sealed in these epochs, so nothing was judged"
    if audit.is_sound:
        return f"every promise was kept in all of {counted(epochs, 'answer')}, and every row is as it was sealed"
    return f"{kept:,} of {counted(epochs, 'answer')} kept every promise and are as they were sealed"


def to_plain(audit: Audit) -> dict[str, Any]:
    return {
        "source": audit.source, "sound": audit.is_sound, "sample": audit.sample, "write": audit.write,
        "checked": dict(audit.checked), "problems": list(audit.problems()),
        "monitors": [_plain_monitor(audit, one) for one in audit.monitors.values()],
        "findings": [
            {
                "monitor": one.monitor, "epoch_start": format_time(one.epoch_start), "expectation": one.expectation,
                "observed": one.observed, "detail": one.detail,
            }
            for one in audit.all_findings
        ],
    }  # fmt: skip


def _plain_monitor(audit: Audit, result: MonitorResult) -> dict[str, Any]:
    return {
        "monitor": result.monitor, "method": result.method, "epochs": len(result.epochs), "kept": result.kept,
        "partial": result.partial, "stale": audit.stale.get(result.monitor),
        "up_to": format_time(max(result.epochs)) if result.epochs else None,
        "promises": [
            {
                "promise": one.promise, "confidence": one.confidence, "judged": one.judged, "broken": one.broken,
                "most_broken": one.most_broken, "error": one.error, "allowed": one.allowed, "kept": one.is_kept,
            }
            for one in result.observed.values()
        ],
        "broken": [
            {
                "epoch_start": format_time(one.epoch_start), "node": one.verdict.node, "key": one.verdict.key,
                "promise": one.verdict.promise, "exact": one.verdict.exact, "error": one.verdict.error,
                "allowed": one.verdict.allowed,
            }
            for one in result.broken
        ],
    }  # fmt: skip
