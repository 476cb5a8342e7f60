"""What is wrong with a source: at the end of each epoch of a run, and now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from jobs.alerting.rules import look_back, rule_troubles
from jobs.alerting.troubles import Key, Look, Trouble
from jobs.epoch.chain import first_unsealed
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.planning import OWED
from jobs.input.quoting import without_content
from jobs.lake import column_list
from jobs.lake.seals import Seal
from jobs.landing.findings import landing_findings
from jobs.looking.recently_stale import RECENT, open_alerts, recently_stale
from jobs.looking.traffic import traffic_of
from jobs.terminal.wording import counted, printable, size
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.tables import DRAFTS, LANDINGS, VALIDATIONS

_CHECKS = ("gate", "validations")
"""The outputs of a run that are findings."""


def looks_of(context: Context, handover: Handover) -> list[Look]:
    """Epoch by epoch what the run, or one before it that was cut off, has found; then how things stand now."""
    source = context.config.source(handover.source)
    monitors = [
        one for one in context.config.monitors_of(source.name) if not handover.only or one.name in handover.only
    ]
    seals = {
        one.name: context.lake.ledger.seals(source.name, one.name, handover.start, handover.end) for one in monitors
    }
    return [
        *_of_checks(context, handover, seals),
        *(look for one in monitors for look in _of_answers(context, source, one, handover, seals[one.name])),
        Look(
            None, ("quarantine", "file refused"),
            [*_set_aside(context, source), *_refused(context, source), *_no_files(context, source)],
        ),
        Look(
            None, ("epoch overdue", "chain stale", "traffic"),
            [trouble for one in monitors for trouble in _of_chain(context, source, one, handover)],
            [one.name for one in monitors],
        ),
    ]  # fmt: skip


def _of_checks(context: Context, handover: Handover, seals: dict[str, list[Seal]]) -> Iterable[Look]:
    """Failed expectations of the gate and of `validate`, of this run and of what is sealed in its interval."""
    writes = {handover.writes[name] for name in _CHECKS if name in handover.writes} | {
        seal.writes[name] for own in seals.values() for seal in own for name in _CHECKS if name in seal.writes
    }
    looked_at = {seal.epoch_start for own in seals.values() for seal in own}
    rows = context.lake.centre.read(VALIDATIONS, [("source", "=", handover.source), *handover.span]).to_pylist()
    failed: dict[int, dict[Key, Trouble]] = {start: {} for start in looked_at}
    for row in sorted(rows, key=lambda row: (row["severity"], row["expectation"])):
        if row["write"] not in writes:
            continue
        own = failed.setdefault(to_microseconds(row["epoch_start"]), {})
        if not row["success"] and row["severity"] != "info" and (row["site"] or row["step"] != "gate"):
            trouble = _of_finding(row)
            own.setdefault(trouble.key, trouble)
    monitors = ["", *handover.only] if handover.only else ()
    for start in sorted(failed):
        yield Look(start, ("site silent", "quality"), list(failed[start].values()), monitors)


def _of_finding(row: dict[str, Any]) -> Trouble:
    silent = row["step"] == "gate" and row["expectation"] == "freshness"
    aside = row["step"] == "gate" and row["severity"] == "critical"
    meanwhile = "it is set aside: answers hold as of its last report, `farwatch status` lists what is owed"
    at = f" at site {row['site']!r}" if row["site"] else ""
    return Trouble(
        "site silent" if silent else "quality", to_microseconds(row["epoch_start"]), row["severity"],
        f"{row['expectation']} does not hold{at}",
        "; ".join(filter(None, [row["observed"], row["detail"], meanwhile if aside else ""])),
        row["monitor"], row["site"],
    )  # fmt: skip


def _of_answers(
    context: Context, source: Source, monitor: Monitor, handover: Handover, seals: Sequence[Seal]
) -> Iterable[Look]:
    """Partial answers, and the monitor's own rules."""
    partial = _partial(context, monitor, seals)
    before = look_back(monitor) * source.epoch
    earlier = (
        context.lake.ledger.seals(source.name, monitor.name, handover.start - before, handover.start) if before else []
    )
    open_rules = open_alerts(context.lake, monitor, "rule") if monitor.alert else {}
    rules = rule_troubles(context.lake, monitor, [*earlier, *seals], handover.start, open_rules)
    for seal in seals:
        start, owed = seal.epoch_start, seal.counts.get(OWED, 0)
        found = list(rules.get(start, ()))
        if owed or start in partial:
            missing = f"{counted(len(seal.missing_sites), 'site')} missing" if seal.missing_sites else ""
            why = ", ".join(filter(None, [f"{counted(owed, 'row')} owed or rejected" if owed else "", missing]))
            detail = f"{why}; `farwatch query {monitor.name} --epoch {format_time(start)}` names them"
            found.append(
                Trouble("answer partial", start, "warning", "the answer is partial", detail, monitor.name)
            )  # fmt: skip
        yield Look(start, ("answer partial", "rule"), found, [monitor.name])


def _partial(context: Context, monitor: Monitor, seals: Sequence[Seal]) -> set[int]:
    lacking = [seal for seal in seals if seal.missing_sites]
    columns = ["epoch_start", "partial"]
    rows = context.lake.sealed(DRAFTS, lacking, ["drafts"], [("monitor", "=", monitor.name)], columns)
    pairs = zip(column_list(rows, "epoch_start"), rows["partial"].to_pylist(), strict=True)
    return {start for start, partial in pairs if partial}


def _set_aside(context: Context, source: Source) -> list[Trouble]:
    """Of the last landing, if it set too many rows aside."""
    found = [row for row in _of_landings(context, source) if row["expectation"] == "quarantined"]
    if not found:  # then the journal, which is as long as the source is old, is not needed
        return []
    journal = context.lake.ledger.journal(source.name, source.clock)
    return [
        Trouble("quarantine", source.origin, row["severity"], row["observed"], row["detail"])
        for row in found
        if journal and row["write"] == journal[-1].write
    ]


def _no_files(context: Context, source: Source) -> list[Trouble]:
    """As long as nothing has landed, and no file matches the source's path."""
    if context.lake.ledger.last_landing(source.name):
        return []
    return [
        Trouble("file refused", source.origin, row["severity"], row["observed"], row["detail"], about=row["observed"])
        for row in _of_landings(context, source)
        if row["expectation"] == "path fits files"
    ]


def _refused(context: Context, source: Source) -> list[Trouble]:
    """Files that were left where they are, as long as they are there and have not landed since."""
    refused = [
        row
        for row in _of_landings(context, source)
        if row["expectation"] == "file can be read" and ("://" in row["observed"] or os.path.exists(row["observed"]))
    ]
    if not refused:  # then the sites' storage is not needed
        return []
    known = context.lake.sites.read(LANDINGS, [("source", "=", source.name)], ["path", "landed_at"]).to_pylist()
    landed = {row["path"]: row["landed_at"] for row in sorted(known, key=lambda row: row["landed_at"])}
    found = {}
    for row in refused:
        path = row["observed"]
        if path not in landed or landed[path] <= row["checked_at"]:
            found[path] = Trouble(
                "file refused", source.origin, row["severity"], f"{path} is not landed", row["detail"], about=path
            )
    return list(found.values())


def _of_landings(context: Context, source: Source) -> list[dict[str, Any]]:
    rows = landing_findings(context.lake, source)
    failed = [row for row in rows if not row["success"] and row["severity"] != "info"]
    # Alerts go to other places: what a reason quotes of a file stays here.
    return [row | {"detail": without_content(row["detail"])} for row in failed]


def _of_chain(context: Context, source: Source, monitor: Monitor, handover: Handover) -> Iterable[Trouble]:
    # An epoch that was told to lack its seal is looked at until it has one, whatever this run is about.
    open_since = [
        to_microseconds(row["epoch_start"]) for row in open_alerts(context.lake, monitor, "epoch overdue").values()
    ]
    end = max([handover.end, *(start + source.epoch for start in open_since)])
    first = first_unsealed(context, source, monitor, handover.start, end)
    if monitor.name in handover.to_fill_in:
        told = handover.to_fill_in[monitor.name]
        yield Trouble("epoch overdue", source.origin, "warning", "is not filled in", told, monitor.name)
    elif first is not None:
        detail = handover.failed.get(monitor.name) or "the run did not get that far; its log says why"
        yield Trouble("epoch overdue", first, "critical", "the epoch is not sealed", detail, monitor.name)
    ledger, recent = context.lake.ledger, RECENT * source.epoch
    near = ledger.seals(source.name, monitor.name, handover.start - recent)
    newest = near[-1] if near else ledger.last(source.name, monitor.name)
    if newest is None:
        return
    stale = recently_stale(context.lake, source, monitor, handover.start)
    if stale is not None:
        yield Trouble("chain stale", stale.first, "warning", "the chain is stale", stale.text, monitor.name)
    last = newest.epoch_start
    seals = ledger.seals(source.name, monitor.name, last - recent + source.epoch, last + 1)
    traffic = traffic_of(context.lake, newest, seals).values()
    sent, shipping = sum(one.bytes for one in traffic), sum(one.shipping for one in traffic)
    if sent > shipping and len(seals) == RECENT:
        detail = (
            f"{size(sent)} crossed in the last {counted(len(seals), 'epoch')}, where shipping every count would take"
            f" {size(shipping)}; another method, or a larger tolerance, may cost less; `farwatch simulate` compares"
        )
        subject = "more crossed than shipping everything would take"
        yield Trouble("traffic", last, "warning", subject, printable(detail, 400), monitor.name)
