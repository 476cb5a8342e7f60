"""What arrives at each site in an epoch, and what leaves its window: synopses of this run and sealed ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jobs.epoch.checked import WantedParts
from jobs.epoch.monitor_run import MonitorRun
from jobs.lake import Lake, column_list
from monitoring_lib.codec import decode
from monitoring_lib.methods import Method
from monitoring_lib.network import node_of_site
from monitoring_lib.summaries import Summary
from monitoring_lib.tables import SYNOPSES

EpochImages = dict[int, dict[str, bytes]]
"""By epoch and site."""


def summary_name(run: MonitorRun, method: Method) -> str:
    """The name under which a method's synopses are stored."""
    return run.monitor.intake(method.summary(), run.source).name


def summaries_of(run: MonitorRun) -> list[str]:
    """The names of all summaries that a monitor's methods take in."""
    return sorted({summary_name(run, method) for method in run.methods})


def arriving_epochs(run: MonitorRun, method: Method, site: str, epoch: int) -> range:
    """The epochs that a site takes in when it observes one: all that count, where the method began without it."""
    begun = run.begun(method.name)
    if begun and run.last_seen(site, epoch) < begun:
        return run.counting(method.ask.window.members(epoch))
    return range(epoch, epoch + 1)


def expiring_epochs(run: MonitorRun, method: Method, site: str, epoch: int) -> range:
    """The epochs that have left a site's window since it last observed."""
    begun, seen = run.begun(method.name), run.last_seen(site, epoch)
    if not method.needs_expiring or (begun and seen < begun):
        return range(0)
    return run.counting(method.ask.window.leaving(seen, epoch))


def took_part(run: MonitorRun, site: str, epoch: int) -> bool:
    """What a site counted in an epoch in which it was missing never arrived, so it never leaves either."""
    return site not in run.missing(epoch)


@dataclass
class Inputs:
    """The synopses of a run, each summary read once, when it is first asked for."""

    lake: Lake
    run: MonitorRun
    _images: dict[str, EpochImages] = field(default_factory=dict)

    def arriving(self, method: Method, epoch: int) -> dict[str, Any]:
        """By node, where there is anything."""
        images = self._of(method)
        if not self.run.begun(method.name):
            absent, summary = set(self.run.missing(epoch)), method.summary()
            found = {site: image for site, image in images.get(epoch, {}).items() if site not in absent}
            return {node_of_site(site): decode(image, summary.synopsis) for site, image in found.items()}
        epochs = ((site, arriving_epochs(self.run, method, site, epoch)) for site in self.run.present(epoch))
        return self._merged(method.summary(), images, epochs)

    def expiring(self, method: Method, epoch: int) -> dict[str, Any]:
        """By node: what has left a site's window since it last observed."""
        if not method.needs_expiring or method.ask.window.length is None:
            return {}
        epochs = ((site, expiring_epochs(self.run, method, site, epoch)) for site in self.run.present(epoch))
        return self._merged(method.summary(), self._of(method), epochs)

    def _merged(self, summary: Summary, images: EpochImages, wanted: Iterable[tuple[str, range]]) -> dict[str, Any]:
        merged = {}
        for site, epochs in wanted:
            parts = [
                decode(images[epoch][site], summary.synopsis)
                for epoch in epochs
                if site in images.get(epoch, ()) and took_part(self.run, site, epoch)
            ]
            if parts:
                merged[node_of_site(site)] = summary.merge(parts)
        return merged

    def _of(self, method: Method) -> EpochImages:
        name = summary_name(self.run, method)
        if name not in self._images:
            self._images[name] = self._read(name)
        return self._images[name]

    def _read(self, name: str) -> EpochImages:
        run = self.run
        needed = {
            epoch
            for method in run.methods
            if summary_name(run, method) == name and (run.begun(method.name) or method.ask.window.length is not None)
            for number in run.numbers
            for site in run.present(number)
            for epoch in (*arriving_epochs(run, method, site, number), *expiring_epochs(run, method, site, number))
            if epoch < run.first
        }
        wanted = WantedParts(run, SYNOPSES, name).sealed(["synopses"], needed)
        rows = wanted.written(self.lake, run.synopses, run.numbers).read(self.lake)
        images: EpochImages = {}
        cells = zip(column_list(rows, "epoch_start"), *(rows[n].to_pylist() for n in ("site", "payload")), strict=True)
        for start, site, image in cells:
            images.setdefault(run.clock.epoch_of(start), {})[site] = image
        return images
