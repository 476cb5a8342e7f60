"""Step 2, gate: decides whether these epochs may run now, which sites take part, and what each monitor has to do.

The gate plans the run once. The steps after it read its plans and decide nothing anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs import quality
from jobs.epoch.arrivals import Arrivals
from jobs.epoch.chain import Beginning, NotFilledInError, begin, first_unsealed
from jobs.epoch.checked import check_sealed
from jobs.epoch.context import Context
from jobs.epoch.decisions import Decision, decisions_of, retirements_of
from jobs.epoch.handover import Handover
from jobs.epoch.planning import make_plan, placements_of
from jobs.epoch.reasons import by_reason
from jobs.epoch.replaying import replay_command
from jobs.epoch.retiring import Leaving, gone
from jobs.epoch.rows import table_of
from jobs.epoch.runs import store_plans
from jobs.epoch.statistics import counted_events, site_statistics
from jobs.lake import new_write, rows_by
from jobs.lake.content import digest_rows
from jobs.quality.findings import Finding, to_rows
from jobs.spark.groupings import Grouping, groupings_of
from jobs.terminal.console import say
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import EpochGapError, UsageError
from monitoring_lib.suggest import nearest
from monitoring_lib.tables import ARRIVALS, VALIDATIONS


def gate(context: Context, handover: Handover) -> None:
    """Decides where each monitor begins, sets unfit sites aside, epoch by epoch, and plans what is to be done."""
    source = context.config.source(handover.source)
    with handover.timed("gate"):
        # Where `land` has not run before, what has landed is taken as it is.
        handover.landing = handover.landing or context.lake.ledger.last_landing(source.name)
        beginnings = _begin(context, source, handover)
        if not beginnings:
            return
        write = handover.writes["gate"] = new_write("gate")
        start = min(handover.monitors.values())
        expressions = _placements(beginnings)
        statistics = site_statistics(context, source, handover.landing, start, handover.end, expressions)
        came = _arrival_rows(source, statistics, write)
        context.lake.append(ARRIVALS, came)
        leaving = Leaving.of(source.retire, retirements_of(context.lake, source.name, handover.end), source.clock)
        starts = range(start, handover.end, source.epoch)
        findings = _check(context, source, beginnings, statistics, starts, leaving)
        context.lake.append(VALIDATIONS, to_rows(findings, source.name, "gate", write))
        arrivals = replace(_arrivals(source, statistics, expressions), digests=_digests(source, came))
        _plan(context, source, handover, beginnings, arrivals, findings, leaving, write)


def _begin(context: Context, source: Source, handover: Handover) -> list[Beginning]:
    """The monitors that have something to do; one with a gap is left out, all with a gap are an error.

    A monitor that was added later holds up nobody: it is named, with the command that fills it in.
    """
    monitors = context.config.monitors_of(source.name)
    for name in handover.only:
        if name not in {monitor.name for monitor in monitors}:
            raise UsageError(f"{name!r} is no monitor of {source.name}{nearest(name, [m.name for m in monitors])}")
    found, gaps, done = [], dict[str, str](), False
    for monitor in monitors:
        if handover.only and monitor.name not in handover.only:
            continue
        start: int | None = handover.start
        if not handover.revise:
            start = first_unsealed(context, source, monitor, handover.start, handover.end)
        if start is None:
            say(f"{monitor.name}: all epochs up to {format_time(handover.end)} are sealed already")
            done = True
            continue
        try:
            with handover.alone(monitor.name, tell=False):
                found.append(_begun(begin(context, source, monitor, start, handover.end), handover))
        except NotFilledInError as gap:
            gaps[monitor.name] = handover.to_fill_in[monitor.name] = str(gap)
            continue
        except EpochGapError as gap:
            gaps[monitor.name] = handover.failed[monitor.name] = str(gap)
            continue
        handover.monitors[monitor.name] = start
    refused = bool(gaps) and not found and not (done and not handover.failed)
    _tell_reasons(handover, gaps if refused else ())
    if refused:
        raise EpochGapError("; ".join(f"{', '.join(names)}: {reason}" for names, reason in by_reason(gaps).items()))
    return found


def _tell_reasons(handover: Handover, raised: Collection[str]) -> None:
    """Says why monitors are left out, each reason once, but for those whose reason is `raised`.

    Notes it as it is said: an alert about one of them has the remedy for all.
    """
    for noted, style in ((handover.failed, "red"), (handover.to_fill_in, "yellow")):
        for names, reason in by_reason(noted).items():
            noted.update(dict.fromkeys(names, reason))
            if names[0] not in raised:
                say(f"{', '.join(names)}: {reason}", style=style)


def _begun(beginning: Beginning, handover: Handover) -> Beginning:
    """EpochGapError if sealed epochs follow, which would have to be sealed anew."""
    if not beginning.standing or handover.revise:
        return beginning
    last = beginning.standing[-1].epoch_start + beginning.source.epoch
    command = replay_command(beginning.source.name, beginning.monitor.name, beginning.start, last, "earlier rows")
    raise EpochGapError(
        f"{beginning.monitor.name}: epochs after {format_time(beginning.start)} are sealed; `{command}`"
    )


def _plan(
    context: Context, source: Source, handover: Handover, beginnings: Iterable[Beginning], arrivals: Arrivals,
    findings: Iterable[Finding], leaving: Leaving, write: str,
) -> None:  # fmt: skip
    decided = decisions_of(context.lake, source.name, handover.span)
    rejected: dict[int, set[str]] = {}
    for one in decided:
        if one.verdict == "rejected":
            rejected.setdefault(source.clock.epoch_of(one.epoch_start), set()).add(one.site)
    _tell(findings, decided)
    cells = Counter(source.clock.epoch_of(one.epoch_start) for one in decided)
    missing = {
        one.monitor.name: _missing(source, one.monitor.name, findings, decided) for one in beginnings
    }  # fmt: skip
    set_aside = {cell for of_monitor in missing.values() for cell in arrivals.came(of_monitor)}
    counted = _counted(context, source, handover, beginnings, set_aside)
    arrivals = replace(arrivals, decided=cells, counted=counted)
    plans = []
    for beginning in beginnings:
        with handover.alone(beginning.monitor.name):
            own = missing[beginning.monitor.name]
            plans.append(make_plan(context.lake, beginning, arrivals, own, rejected, leaving))
    store_plans(context, handover, plans, write)


def _missing(
    source: Source, monitor: str, findings: Iterable[Finding], decided: Iterable[Decision]
) -> dict[int, set[str]]:  # fmt: skip
    """By epoch the sites that are set aside for a monitor: for all of them, or by what it asks itself."""
    missing: dict[int, set[str]] = {}
    for finding in findings:
        if finding.sets_aside and finding.monitor in ("", monitor):
            missing.setdefault(source.clock.epoch_of(finding.epoch_start), set()).add(finding.site)
    for one in decided:
        epoch = source.clock.epoch_of(one.epoch_start)
        if one.verdict == "admitted":
            missing.get(epoch, set()).discard(one.site)
        else:
            missing.setdefault(epoch, set()).add(one.site)
    return missing


def _check(
    context: Context, source: Source, beginnings: Sequence[Beginning], statistics: pa.Table, starts: range,
    leaving: Leaving,
) -> list[Finding]:  # fmt: skip
    """What the source asks, against the chain that reaches furthest, then what monitors ask for themselves."""
    found = _checked(context, source, beginnings, statistics, starts, leaving)
    for one in beginnings:
        if one.monitor.quality is not None:
            asked = source.model_copy(update={"quality": one.monitor.quality})
            own = range(one.start, starts.stop, source.epoch)
            rows = statistics.filter(pc.greater_equal(statistics["epoch_start"], one.start))
            judged = _checked(context, asked, [one], rows, own, leaving)
            found += [replace(each, monitor=one.monitor.name) for each in judged]
    return found


def _checked(
    context: Context, source: Source, beginnings: Sequence[Beginning], statistics: pa.Table, starts: range,
    leaving: Leaving,
) -> list[Finding]:  # fmt: skip
    """As the chain was before the range. Nobody waits for sites that have left."""
    known = max((one for one in beginnings), key=lambda one: (one.start == starts.start, one.cursor.epoch))
    first = source.clock.epoch_of(starts.start)
    left = gone(known.cursor, leaving, first, set(statistics["site"].to_pylist()))
    met = [one.site for one in known.cursor.members if one.joined < first and one.site not in left]
    expected = source
    if left and source.sites:
        expected = source.model_copy(update={"sites": [site for site in source.sites if site not in left]})
    history = _history(context, source, known, starts.start)
    if left:
        history = history.filter(pc.invert(pc.is_in(history["site"], value_set=pa.array(sorted(left), pa.string()))))
    return quality.check_sites(statistics, history, met, expected, starts)


def _history(context: Context, source: Source, known: Beginning, start: int) -> pa.Table:
    """The number of events by site and epoch before the range, as far back as the checks look."""
    look_back = quality.history_epochs(source)
    ledger = context.lake.ledger
    recent = ledger.seals(source.name, known.monitor.name, start - look_back * source.epoch, start) if look_back else []
    rows = context.lake.sealed(ARRIVALS, recent, ["gate"], [("source", "=", source.name)])
    return check_sealed(context.lake, ARRIVALS, ["arrivals"], recent, rows).select(
        ["epoch_start", "site", "events", "buckets"]
    )


def _placements(beginnings: Iterable[Beginning]) -> list[tuple[str, ...]]:
    """All tuples of expressions by which some method places its sites."""
    wanted = (placements_of(one.monitor, one.source).values() for one in beginnings)
    return sorted({expressions for found in wanted for expressions in found})


def _arrivals(source: Source, statistics: pa.Table, expressions: Sequence[tuple[str, ...]]) -> Arrivals:
    clock = source.clock
    epochs = pa.array((statistics["epoch_start"].to_numpy() - clock.origin) // clock.length, pa.int64())
    texts = [statistics[quality.placement_column(at)] for at in range(len(expressions))]
    names = ["epoch", "site", *map(quality.placement_column, range(len(expressions)))]
    return Arrivals(pa.Table.from_arrays([epochs, statistics["site"], *texts], names), expressions)


def _arrival_rows(source: Source, statistics: pa.Table, write: str) -> pa.Table:
    columns: dict[str, Any] = {name: statistics[name] for name in ("epoch_start", "site", "events")}
    columns |= {"source": source.name, "buckets": list(quality.buckets_of(statistics)), "write": write}
    return table_of(ARRIVALS, statistics.num_rows, columns)


def _digests(source: Source, came: pa.Table) -> dict[int, str]:
    """By epoch, of its rows: the seal keeps it, for those who look back."""
    return {
        source.clock.epoch_of(start): digest_rows(ARRIVALS, rows)
        for (start,), rows in rows_by(came, "epoch_start").items()
    }


def _groupings(beginnings: Iterable[Beginning]) -> dict[str, list[Grouping]]:
    """By monitor which events count for the summaries of its methods and of its truth: `where` and keys alone."""
    found = {}
    for one in beginnings:
        intakes = [one.monitor.intake(summary, one.source) for summary in one.monitor.summaries(one.source)]
        found[one.monitor.name] = [Grouping(each.where, each.expressions, ()) for each in groupings_of(intakes)]
    return found


def _counted(
    context: Context, source: Source, handover: Handover, beginnings: Iterable[Beginning],
    set_aside: Collection[tuple[int, str]],
) -> dict[str, dict[tuple[int, str], int]]:  # fmt: skip
    """By monitor and cell how many events count for any of its summaries."""
    groupings = _groupings(beginnings)
    distinct = list(dict.fromkeys(one for found in groupings.values() for one in found))
    cells = {(source.clock.start_of(epoch), site) for epoch, site in set_aside}
    counts = dict(zip(distinct, counted_events(context, source, handover.landing, cells, distinct), strict=True))
    return {
        name: {
            (source.clock.epoch_of(start), site): max(counts[one].get((start, site), 0) for one in found)
            for start, site in cells
        }
        for name, found in groupings.items()
    }  # fmt: skip


def _tell(findings: Iterable[Finding], decided: Collection[Decision]) -> None:
    settled = {(one.epoch_start, one.site) for one in decided}
    for finding in findings:
        if finding.sets_aside and (finding.epoch_start, finding.site) not in settled:
            say(
                f"epoch {format_time(finding.epoch_start)}: site {finding.site!r} is set aside"
                f"{f' for {finding.monitor}' if finding.monitor else ''}:"
                f" {finding.expectation} ({finding.detail or finding.observed})",
                style="yellow",
            )
