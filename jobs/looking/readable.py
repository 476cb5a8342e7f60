"""Payloads of messages and states in plain JSON, decoded by the classes of the method that made them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from jobs.epoch.asked_then import monitor_then, source_then
from jobs.lake import Lake
from jobs.looking.printing import plain
from monitoring_lib.codec import Image, decode, readable
from monitoring_lib.errors import FarwatchError
from monitoring_lib.methods import Method
from monitoring_lib.protocols import find_method
from monitoring_lib.tables import EPOCHS


def content_of_image(payload: bytes, *kinds: type[Image]) -> Any:
    """What an image says; of one that cannot be decoded, why."""
    try:
        return plain(readable(decode(payload, *kinds)))
    except FarwatchError as error:
        return {"unreadable": str(error)}


@dataclass
class Reader:
    """Decodes for SQL, whatever monitor and method a row is of."""

    lake: Lake
    _methods: dict[tuple[str, str], Method | str] = field(default_factory=dict)

    def letter(self, monitor: str, method: str, _: str, payload: bytes) -> str:
        """The letter of a message, as JSON."""
        found = self._method(monitor, method)
        return _json({"unreadable": found} if isinstance(found, str) else content_of_image(payload, *found.letters))

    def state(self, monitor: str, method: str, node: str, payload: bytes) -> str:
        """A state as it is stored, as JSON: a base whole, a change with what changed. Sites are node ''."""
        found = self._method(monitor, method)
        if isinstance(found, str):
            return _json({"unreadable": found})
        role = found.role(node) if node else found.site
        return _json(content_of_image(payload, role.State))

    def _method(self, monitor: str, name: str) -> Method | str:
        """A method as the monitor's last seal has it, or why there is none."""
        if (monitor, name) not in self._methods:
            try:
                self._methods[monitor, name] = self._as_last_sealed(monitor, name)
            except FarwatchError as error:
                self._methods[monitor, name] = str(error)
        return self._methods[monitor, name]

    def _as_last_sealed(self, monitor: str, name: str) -> Method:
        rows = self.lake.centre.read(EPOCHS, [("monitor", "=", monitor)], ["source", "epoch_start"])
        newest = rows.sort_by([("epoch_start", "descending")]).slice(0, 1)
        [start], [source] = newest["epoch_start"].cast(pa.int64()).to_pylist(), newest["source"].to_pylist()
        [seal] = self.lake.ledger.seals(source, monitor, start, start + 1)
        then = monitor_then(seal)
        return find_method(then.question, name)(then.ask(source_then(seal), name))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
