"""Step 8, alert: what opens and what is over goes to the table and the sinks, once. Runs whatever happened before."""

from __future__ import annotations

from jobs.alerting.collecting import looks_of
from jobs.alerting.sinks import deliver, names_of
from jobs.alerting.turns import store
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover


def alert(context: Context, handover: Handover) -> None:
    """Looks at what the run has found and at how things stand, and tells what has changed since the last look."""
    with handover.timed("alert"):
        alerts = context.config.settings.alerts
        looks = looks_of(context, handover)
        store(context.lake, handover.source, looks, names_of(alerts.sinks), alerts.remind)
        deliver(context, handover.source)
