"""Step 2, gate: may these epochs run now, and which sites are fit to take part in each?"""

from __future__ import annotations

import pyarrow as pa

from jobs import quality
from jobs.chain import Chain, chain_before, first_unsealed, ground_of
from jobs.context import Context
from jobs.findings import Finding, to_rows
from jobs.handover import Handover
from jobs.lake import column_list, new_write
from jobs.report import say
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import EpochGapError, UsageError
from monitoring_lib.suggest import nearest
from monitoring_lib.tables import SYNOPSES, VALIDATIONS


def gate(context: Context, handover: Handover) -> None:
    """Decides where each monitor begins, and sets unfit sites aside, epoch by epoch."""
    source = context.config.source(handover.source)
    with handover.timed("gate"):
        # Where `land` has not run before, what has landed is taken as it is.
        handover.landing = handover.landing or context.lake.ledger.last_landing(source.name, source.clock)
        chains = _open_chains(context, source, handover)
        if not chains:
            return
        start = min(handover.monitors.values())
        known = max((chain.before(start) for chain in chains), key=lambda chain: len(chain.seals))
        findings = quality.check_sites(
            _site_statistics(context, source, handover, start), _history(context, source, known),
            known.roster, source, range(start, handover.end, source.epoch),
        )  # fmt: skip
        write = handover.writes["gate"] = new_write("gate")
        context.lake.append(VALIDATIONS, to_rows(findings, source.name, "gate", write))
        _tell(findings)


def missing_sites(context: Context, handover: Handover) -> dict[int, set[str]]:
    """The sites that the gate set aside, by epoch."""
    rows = context.lake.of_writes(
        VALIDATIONS, [handover.write_of("gate")], handover.span, ["epoch_start", "site", "severity", "success"]
    )
    missing: dict[int, set[str]] = {}
    for epoch_start, row in zip(column_list(rows, "epoch_start"), rows.to_pylist(), strict=True):
        if row["site"] and row["severity"] == "critical" and not row["success"]:
            missing.setdefault(epoch_start, set()).add(row["site"])
    return missing


def _open_chains(context: Context, source: Source, handover: Handover) -> list[Chain]:
    """The chains that have something to do; a monitor with a gap is left out, all with a gap are an error."""
    monitors = context.config.monitors_of(source.name)
    for name in handover.only:
        if name not in {monitor.name for monitor in monitors}:
            raise UsageError(f"{name!r} is no monitor of {source.name}{nearest(name, [m.name for m in monitors])}")
    chains, gaps = [], []
    for monitor in monitors:
        if handover.only and monitor.name not in handover.only:
            continue
        begin: int | None = handover.start
        if not handover.revise:
            begin = first_unsealed(context, source, monitor, handover.start, handover.end)
        if begin is None:
            say(f"{monitor.name}: all epochs up to {format_time(handover.end)} are sealed already")
            continue
        try:
            chain = chain_before(context, source, monitor, begin)
        except EpochGapError as gap:
            gaps.append(gap)
            handover.failed[monitor.name] = str(gap)
            say(str(gap), style="red")
            continue
        chains.append(chain)
        handover.monitors[monitor.name] = begin
        standing = context.lake.ledger.seals(source.name, monitor.name, begin, handover.end)
        handover.grounds[monitor.name] = ground_of(chain, standing)
    if gaps and not chains:
        raise gaps[0]
    return chains


def _site_statistics(context: Context, source: Source, handover: Handover, start: int) -> pa.Table:
    """What each site brought in each epoch, counted where the events are."""
    landings = context.lake.ledger.landed(source.name, start, handover.end)
    nulls = sorted(source.quality.nulls)
    if not any(seal.counts.get("landed") for seal in landings):
        return quality.statistics_schema(nulls).empty_table()
    from pyspark.sql import functions as F

    events = context.lake.events(source, handover.landing, start, handover.end)
    own = ("item", "value", "site", "time")
    empty = [
        F.count(F.when((F.col(n) if n in own else F.col("fields")[n]).isNull(), 1)).alias(f"no {n}") for n in nulls
    ]
    rows = events.groupBy(F.unix_micros("epoch_start").alias("epoch_start"), "site").agg(
        F.count(F.lit(1)).alias("events"), F.min("value").alias("least"), F.max("value").alias("most"), *empty
    )
    return pa.Table.from_pylist([row.asDict() for row in rows.collect()], quality.statistics_schema(nulls))


def _history(context: Context, source: Source, chain: Chain) -> pa.Table:
    """The number of events by site and epoch in the chain, as far back as the checks look."""
    columns = ["epoch_start", "site", "events"]
    recent = chain.seals[-quality.history_epochs(source) :] if quality.history_epochs(source) else ()
    rows = context.lake.sealed(SYNOPSES, recent, ["synopses"], columns=columns)
    return rows.group_by(["epoch_start", "site"]).aggregate([("events", "max")]).rename_columns(columns)


def _tell(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.sets_aside:
            say(
                f"epoch {format_time(finding.epoch_start)}: site {finding.site!r} is set aside:"
                f" {finding.expectation} ({finding.detail or finding.observed})",
                style="yellow",
            )
