"""Messages, states and synopses decoded as their readers will decode them, and the ledger of traffic counted anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.lake import column_list
from jobs.lake.seals import Seal
from jobs.lake.times import rows_by
from jobs.quality.findings import Finding
from monitoring_lib.codec import decode
from monitoring_lib.config import Monitor, Source
from monitoring_lib.errors import FarwatchError
from monitoring_lib.methods import Method
from monitoring_lib.network import Letter
from monitoring_lib.protocols import find_method

_REPAIR = "restore the table `{table}` from a copy, or replay the epoch with `farwatch run … --revise`"


@dataclass
class ImageChecks:
    """Of one monitor under one configuration. States are kept, so that later changes can be decoded after them."""

    monitor: Monitor
    source: Source
    _methods: dict[str, Method] = field(default_factory=dict)
    _states: dict[tuple[str, str], Any] = field(default_factory=dict)

    def method(self, name: str) -> Method:
        if name not in self._methods:
            self._methods[name] = find_method(self.monitor.question, name)(self.monitor.ask(self.source, name))
        return self._methods[name]

    def check_messages(self, seals: Sequence[Seal], rows: pa.Table) -> Iterator[Finding]:
        """Every letter can be read and is what its row says; the seals' counts of traffic are those of the rows."""
        by_epoch = rows_by(rows, "epoch_start", "write")
        for seal in seals:
            writes = {seal.writes[output] for output in ("inbox", "messages") if output in seal.writes}
            parts = [by_epoch[seal.epoch_start, write] for write in writes if (seal.epoch_start, write) in by_epoch]
            found = {
                "messages": sum(part.num_rows for part in parts),
                "message_bytes": sum(int(pc.sum(part["bytes"]).as_py() or 0) for part in parts),
            }
            for name, count in found.items():
                if count != seal.counts.get(name, 0):
                    yield self._found(
                        seal.epoch_start, "traffic is as counted", f"{name}: {count:,}",
                        f"its seal counts {seal.counts.get(name, 0):,}; {_REPAIR.format(table='messages')}",
                    )  # fmt: skip
            faults = [fault for part in parts for fault in self._unlike(part)]
            if faults:
                yield self._found(
                    seal.epoch_start, "messages can be read", f"{len(faults)} cannot, or say something else",
                    f"{faults[0]}; {_REPAIR.format(table='messages')}",
                )  # fmt: skip

    def _unlike(self, rows: pa.Table) -> Iterator[str]:
        names = ("method", "sender", "kind", "entries", "bytes", "payload", "receivers")
        for row in zip(*(rows[name].to_pylist() for name in names), strict=True):
            method, sender, kind, entries, size, payload, receivers = row
            try:
                letter: Letter = decode(payload, *self.method(method).letters)
            except FarwatchError as error:
                yield f"{kind} of {sender!r}: {error}"
                continue
            said = (letter.kind(), letter.entries * len(receivers), len(payload) * len(receivers))
            if said != (kind, entries, size):
                yield (
                    f"{kind} of {sender!r}: {entries} entries in {size} bytes by its row, by its content {said[0]},"
                    f" {said[1]} entries in {said[2]} bytes"
                )

    def check_states(self, rows: pa.Table) -> Iterator[Finding]:
        """Every state of an inner node can be restored."""
        rows = rows.sort_by("epoch_start")
        columns = [rows[name].to_pylist() for name in ("method", "node", "form", "payload")]
        for start, name, node, form, payload in zip(column_list(rows, "epoch_start"), *columns, strict=True):
            before = self._states.get((name, node))
            if form == "change" and before is None:
                continue  # its base lies before the audited epochs
            try:
                kind = self.method(name).role(node).State
                self._states[name, node] = decode(payload, kind, since=before if form == "change" else None)
            except FarwatchError as error:
                self._states.pop((name, node), None)
                told = f"{name}, {node}: {error}; {_REPAIR.format(table='states')}"
                yield self._found(start, "states can be restored", f"{form} of {len(payload)} bytes", told)

    def check_synopses(self, rows: pa.Table) -> Iterator[Finding]:
        """Every synopsis that a method takes in can be read."""
        kinds = {
            self.monitor.intake(method.summary(), self.source).name: method.summary().synopsis
            for method in map(self.method, self.monitor.methods)
        }
        columns = [rows[name].to_pylist() for name in ("summary", "site", "payload")]
        for start, summary, site, payload in zip(column_list(rows, "epoch_start"), *columns, strict=True):
            try:
                decode(payload, kinds[summary])
            except FarwatchError as error:
                told = f"{summary} of site {site!r}: {error}; {_REPAIR.format(table='synopses')}"
                yield self._found(start, "synopses can be read", f"{len(payload)} bytes", told)

    def check_site_states(self, rows: pa.Table) -> Iterator[Finding]:
        """Every state of a site that was stored whole can be read."""
        columns = [rows[name].to_pylist() for name in ("method", "site", "payload")]
        for start, name, site, payload in zip(column_list(rows, "epoch_start"), *columns, strict=True):
            try:
                decode(payload, self.method(name).site.State)
            except FarwatchError as error:
                told = f"{name}, site {site!r}: {error}; {_REPAIR.format(table='site_states')}"
                yield self._found(start, "states of sites can be read", f"{len(payload)} bytes", told)

    def _found(self, start: int, expectation: str, observed: str, detail: str) -> Finding:
        return Finding(start, expectation, False, monitor=self.monitor.name, observed=observed, detail=detail)
