"""What a schedule needs of a source: its name, its grid of intervals, its monitors. Read by yaml alone.

The scheduler parses these files all the time, so nothing of Farwatch is imported; `farwatch check-config`
validates the configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
UNITS["w"] = 7 * UNITS["d"]


@dataclass(frozen=True)
class Source:
    name: str
    origin: datetime
    schedule: timedelta
    monitors: list[str] = field(default_factory=list)

    def floor(self, moment: datetime) -> datetime:
        """The last border of an interval at or before `moment`."""
        return moment - (moment - self.origin) % self.schedule


def read_sources(folder: Path, environment: str) -> tuple[list[Source], dict[str, str]]:
    """Every source that can be scheduled, and what is wrong with the others, by file name."""
    asked: dict[str, list[str]] = {}
    sources = []
    monitors, faults_of_monitors = _read(folder, environment, "monitors")
    for monitor in monitors.values():
        asked.setdefault(str(monitor.get("source")), []).append(str(monitor.get("name")))
    found, faults = _read(folder, environment, "sources")
    for file, source in found.items():
        try:
            schedule = duration(source.get("schedule") or source["epoch"])
            name = str(source["name"])
            sources.append(Source(name, time(source["origin"]), schedule, sorted(asked.get(name, []))))
        except KeyError as missing:
            faults[file] = f"{missing} is missing"
        except ValueError as error:
            faults[file] = str(error)
    return sources, faults | faults_of_monitors


def _read(folder: Path, environment: str, kind: str) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The mappings of all files of a kind, the environment's laid over the base's."""
    found: dict[str, dict[str, Any]] = {}
    faults: dict[str, str] = {}
    for layer in dict.fromkeys(("base", environment)):
        for path in sorted((folder / layer / kind).glob("*.yml")):
            name = f"{kind}/{path.name}"
            try:
                content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
                if not isinstance(content, dict):
                    raise ValueError("not a mapping")
                found[name] = _merged(found.get(name, {"name": path.stem}), content)
            except (OSError, ValueError, yaml.YAMLError) as error:
                faults[name] = str(error)
    return {name: content for name, content in found.items() if name not in faults}, faults


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`, mapping by mapping; anything else replaces what was there."""
    merged = base | over
    for key in base.keys() & over.keys():
        if isinstance(base[key], dict) and isinstance(over[key], dict):
            merged[key] = _merged(base[key], over[key])
    return merged


def duration(text: object) -> timedelta:
    parts = re.findall(r"\s*(\d+)\s*(us|ms|s|m|h|d|w)\s*", str(text))
    if not parts or re.sub(r"\s", "", str(text)) != "".join(number + unit for number, unit in parts):
        raise ValueError(f"{text!r} is not a duration such as 5m or 1d")
    return timedelta(microseconds=sum(int(number) * UNITS[unit] for number, unit in parts))


def time(value: object) -> datetime:
    """YAML gives a date, a time or a text; without a zone it is UTC."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
