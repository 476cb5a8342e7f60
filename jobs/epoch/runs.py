"""The plans of a run, as the gate stored them: read once a process, and checked against the hand-over's digests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.plan import Plan, digest_of
from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import PLANS


def store_plans(context: Context, handover: Handover, plans: Iterable[Plan], write: str) -> None:
    """Under the gate's write; the hand-over names each by its digest."""
    source = context.config.source(handover.source)
    rows = []
    for plan in plans:
        start, content = to_datetime(source.clock.start_of(plan.cursor.epoch + 1)), plan.to_json()
        rows.append({"monitor": plan.monitor, "epoch_start": start, "content": content, "write": write})
        handover.plans[plan.monitor] = digest_of(content)
        handover.local.plans[plan.monitor] = plan
    context.lake.append(PLANS, rows)


def runs_of(context: Context, handover: Handover) -> Mapping[str, MonitorRun]:
    """By monitor, those that have not failed."""
    source = context.config.source(handover.source)
    if not handover.local.plans and handover.plans:
        handover.local.plans = _stored_plans(context, handover)
    return {
        name: MonitorRun(
            source, context.config.monitor(name), handover.local.plans[name], handover.writes.get("synopses", "")
        )
        for name in handover.running
    }  # fmt: skip


def _stored_plans(context: Context, handover: Handover) -> dict[str, Plan]:
    rows = context.lake.of_writes(PLANS, [handover.write_of("gate")], handover.span, ["monitor", "content"])
    contents = dict(zip(rows["monitor"].to_pylist(), rows["content"].to_pylist(), strict=True))
    for name, digest in handover.plans.items():
        if digest_of(contents.get(name, "")) != digest:
            raise DamagedTable(
                f"{name}: the plan under {handover.write_of('gate')} is not the one that the hand-over names;"
                " the table `plans` is damaged, or was restored from an older copy: run the epoch again"
            )
    return {name: Plan.from_json(content) for name, content in contents.items()}
