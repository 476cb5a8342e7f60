"""Broken promises and damaged rows, as the last audit of each epoch has found them."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.alerting.troubles import Trouble
from jobs.auditing.result import Audit
from jobs.lake import Lake
from jobs.looking.audited import audited_of
from jobs.looking.sealed_chain import chain_of
from jobs.terminal.wording import counted
from monitoring_lib.epochs import format_time


def audit_troubles(lake: Lake, found: Audit) -> Iterator[Trouble]:
    """Of the monitors that were audited, and of the source where its events are not those that landed."""
    for name, result in found.monitors.items():
        audited = audited_of(lake, found.source, name, chain_of(lake, found.source, name))
        broken, damaged = (audited.broken, audited.damaged) if audited else (frozenset(), frozenset())
        again = f"`farwatch audit {found.source} --monitors {name}` tells the whole of it"
        if broken or result.breaches:
            told = "; ".join(f"'{one.promise}': {one.broken:,} of {one.judged:,} broken" for one in result.breaches)
            first = min(broken, default=min(result.epochs, default=0))
            yield Trouble(
                "promise broken", first, "critical", f"a promise was broken, first in epoch {format_time(first)}",
                "; ".join(filter(None, [told, again])), name,
            )  # fmt: skip
        if damaged:
            first = min(damaged)
            told = next((one.detail for one in result.findings), "")
            yield Trouble(
                "integrity", first, "critical", f"sealed rows of {counted(len(damaged), 'epoch')} are not as sealed",
                "; ".join(filter(None, [told, again])), name,
            )  # fmt: skip
    if found.findings:
        one = found.findings[0]
        yield Trouble("integrity", one.epoch_start, "critical", f"{one.expectation} does not hold", one.detail)
