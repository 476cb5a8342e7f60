"""Step 5, resolve: messages are exchanged until no node has one left to send; then each epoch's answer, as a draft."""

from __future__ import annotations

from itertools import chain

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.output import Output
from jobs.epoch.runs import runs_of
from jobs.lake import new_write
from jobs.sites.choice import Places
from jobs.sites.helpers import Helpers
from jobs.sites.resolving import Resolving, first_cursors
from jobs.sites.shared import SharedJobs


def resolve(context: Context, handover: Handover) -> None:
    """Settles every epoch of the range and writes messages, states and drafts; no state of a site is rewritten."""
    if not handover.running:
        return
    with handover.timed("resolve"):
        output = Output(context.lake, handover, "resolve", new_write("resolve"))
        runs = runs_of(context, handover)
        observed_here = bool(handover.local.cursors)
        first = first_cursors(context, handover)
        places = Places(context, handover)
        resolving = Resolving(context, handover, output, SharedJobs(context.lake), places)
        failed = resolving.in_spark(runs.values())
        observed = handover.write_of("site_states")
        here = [run for name, run in runs.items() if name not in failed and resolving.is_in_process(run)]
        # The largest first: so no process is left with much to do when the others have ended.
        here.sort(key=lambda run: places.state_bytes(run, observed), reverse=True)
        shared = {run.monitor.name: run for run in here}
        with Helpers.for_runs(context, handover, output, shared) as helpers:
            for name in chain(sorted(runs.keys() - shared.keys()), helpers.left_over()):
                with handover.alone(name):
                    if name in failed:
                        raise failed[name]
                    resolving.in_process(runs[name], first[name])
        output.finish()
        handover.local.resolved = observed_here
        handover.writes |= dict.fromkeys(("messages", "states", "drafts", "cursors", "later_site_states"), output.write)
