"""The whole configuration, and the digest that tells whether a monitor still means the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from monitoring_lib.config.monitor import Monitor
from monitoring_lib.config.settings import Settings
from monitoring_lib.config.source import Source
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.errors import UsageError
from monitoring_lib.protocols import find_method
from monitoring_lib.suggest import nearest


@dataclass(frozen=True)
class Config:
    """Settings, sources and monitors of one environment, all valid."""

    settings: Settings
    sources: Mapping[str, Source]
    monitors: Mapping[str, Monitor]

    def source(self, name: str) -> Source:
        if name not in self.sources:
            raise UsageError(f"unknown source {name!r}{nearest(name, self.sources)}")
        return self.sources[name]

    def monitor(self, name: str) -> Monitor:
        if name not in self.monitors:
            raise UsageError(f"unknown monitor {name!r}{nearest(name, self.monitors)}")
        return self.monitors[name]

    def monitors_of(self, source: str) -> list[Monitor]:
        """The monitors that ask about a source, by name."""
        return [monitor for _, monitor in sorted(self.monitors.items()) if monitor.source == source]

    def digest_of(self, monitor: Monitor) -> str:
        """Changes exactly when the monitor or its source comes to mean something else."""
        return hashlib.sha256(meaning_of(monitor, self.source(monitor.source or "")).encode()).hexdigest()


_NO_MEANING_OF_MONITOR = {"title", "alert", "begin"}
_NO_MEANING_OF_SOURCE: dict[str, Any] = {
    "path": True, "schedule": True, "airflow": True, "deadline": True, "late": True, "quality": {"quarantined"},
    "changed_files": True, "settle": True, "begin": True, "land": True,
}  # fmt: skip


def meaning_of(monitor: Monitor, source: Source) -> str:
    """Canonical JSON of all that answers depend on: defaults filled in, numbers in one spelling.

    What people read (a title), where files lie and when they land, when a landing is alerted about, how many epochs a
    run covers and how Airflow runs it do not count; where a chain has begun stands in the chain.
    """
    asked = {
        name: _plain(getattr(monitor, name))
        for name in Monitor.__dataclass_fields__
        if name not in _NO_MEANING_OF_MONITOR
    }
    if monitor.quality is None:
        del asked["quality"]
    asked["options"] = {
        name: _plain(monitor.options.get(name) or find_method(monitor.question, name).Options())
        for name in monitor.methods
    }
    asked["tick"] = monitor.tick or source.tick
    about = _plain(source.model_dump(exclude=_NO_MEANING_OF_SOURCE))
    for name, scale in source.scales.items():
        if name in about["values"]:
            about["values"][name]["scale"] = scale
    if source.unpivot is not None:
        about["unpivot"]["step"] = source.step
    return json.dumps({"monitor": asked, "source": about}, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


_MEANING_OF_LANDING = (
    "epoch", "origin", "format", "columns", "values", "unpivot", "time_format", "time_zone", "repeated_hour", "scale",
)  # fmt: skip


def landing_of(source: Source) -> str:
    """Canonical JSON of what makes an event of a row: as long as it is the same, landings can follow each other."""
    about: dict[str, Any] = {name: _plain(getattr(source, name)) for name in _MEANING_OF_LANDING}
    for name, scale in source.scales.items():
        if name in about["values"]:
            about["values"][name]["scale"] = scale
    if source.unpivot is not None:
        about["unpivot"]["step"] = source.step
    if source.format == "csv":
        about["csv"] = _plain(source.csv)
    return json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def landing_changes(before: str, now: str) -> list[str]:
    """What rows come to mean otherwise, each as "key: from ... to ..."; nothing where events are made alike.

    To read a repeated hour at all makes no event another one: rows of it were set aside before.
    """
    old, new = json.loads(before), json.loads(now)
    if "fault" in (old["repeated_hour"], new["repeated_hour"]):
        del old["repeated_hour"], new["repeated_hour"]
    return [
        f"{key}: from {_written(key, old.get(key))} to {_written(key, new.get(key))}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _written(key: str, value: Any) -> str:
    """As a configuration file writes it."""
    if key == "epoch":
        return format_duration(value)
    return format_time(value) if key == "origin" else json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump())
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
