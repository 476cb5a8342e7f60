"""The driver: all eight steps over a range of epochs, in one process, committed in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jobs.alert import alert
from jobs.context import Context
from jobs.gate import gate
from jobs.handover import Handover
from jobs.land import land
from jobs.observe import observe
from jobs.report import say
from jobs.resolve import resolve
from jobs.seal import seal
from jobs.summarise import summarise
from jobs.validate import validate
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import FarwatchError

STEPS: dict[str, Callable[[Context, Handover], None]] = {
    "land": land, "gate": gate, "summarise": summarise, "observe": observe,
    "resolve": resolve, "validate": validate, "seal": seal, "alert": alert,
}  # fmt: skip

_CHUNK = 256
"""Epochs that are committed together: what a kill -9 costs at most."""


def run(context: Context, handover: Handover) -> Handover:
    """Runs the range; what a chunk has sealed stays sealed whatever happens to the next."""
    source = context.config.source(handover.source)
    chunk = 1 if context.config.settings.sites_run == "spark" else _CHUNK
    try:
        land(context, handover)
    except FarwatchError:
        alert(context, handover)
        raise
    last = handover
    for start in range(handover.start, handover.end, chunk * source.epoch):
        end = min(handover.end, start + chunk * source.epoch)
        last = replace(
            handover, start=start, end=end, monitors={}, grounds={}, writes={}, failed={}, times=dict(handover.times)
        )
        try:
            for step in (gate, summarise, observe, resolve, validate, seal):
                step(context, last)
        finally:
            alert(context, last)
        took = ", ".join(f"{step} {microseconds / 1e6:.1f} s" for step, microseconds in last.times.items())
        say(f"{source.name}: done up to {format_time(end)} ({took})")
    return last
