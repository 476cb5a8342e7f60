"""Variants of a monitor: the same question with another method, other options, another precision or window."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from jobs.costing.stored import FoundSynopses, Stored
from monitoring_lib.config import Monitor, check_together, parse_monitor, said_by
from monitoring_lib.errors import ConfigError, UsageError
from monitoring_lib.methods import Method
from monitoring_lib.protocols import find_method, find_question, methods

METHOD = "method"
FACTORS = (0.25, 0.5, 2, 4)
"""By which the precision is scaled where nobody says what to try."""

VariantKeys = Mapping[str, Any]
"""What a variant's file says instead, by key."""


@dataclass(frozen=True)
class Variant:
    """A monitor that could be configured, and where the synopses are that its method takes in."""

    wish: VariantKeys
    monitor: Monitor
    method: Method
    found: FoundSynopses
    placements: Mapping[str, tuple[str, ...]]
    configured: bool = False

    @property
    def label(self) -> str:
        return label_of(self.wish)

    @property
    def promise(self) -> str:
        return self.method.question.promise(self.method.ask)

    @property
    def precision(self) -> float | None:
        """How loose the promise is, None where the question has no key for it."""
        return precision_of(self.monitor)


@dataclass(frozen=True)
class LeftOut:
    """A variant that cannot be replayed, and why."""

    label: str
    why: str
    is_fault: bool = False
    """Whether no monitor could say so."""


@dataclass
class Chosen:
    """What is replayed, the monitor as it is configured first, and what is not."""

    variants: list[Variant] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def take(self, stored: Stored, wishes: Iterable[VariantKeys]) -> None:
        seen = [one.wish for one in self.variants]
        for wish in wishes:
            if wish in seen:
                continue
            found = variant_of(stored, wish)
            if isinstance(found, Variant):
                self.variants.append(found)
            else:
                self.left_out.append(found)
            seen.append(wish)


def variant_of(stored: Stored, wish: VariantKeys) -> Variant | LeftOut:
    label = label_of(wish)
    said = copy.deepcopy(said_by(stored.monitor))
    said.pop("shadow", None)
    for key, value in wish.items():
        _put(said, key, value)
    said["options"] = {name: options for name, options in said["options"].items() if name == said[METHOD]}
    try:
        monitor = parse_monitor(said, f"monitor {stored.monitor.name}")
        check_together(monitor, stored.source)
    except ConfigError as error:
        return LeftOut(label, str(error).strip().splitlines()[-1].strip(), is_fault=True)
    method = find_method(monitor.question, monitor.method)(monitor.ask(stored.source))
    found = stored.find(monitor, method.summary())
    if isinstance(found, str):
        return LeftOut(label, found)
    placements = stored.placements(method.placement())
    if placements is None:
        return LeftOut(label, "places its sites by other columns than any sealed method did")
    return Variant(wish, monitor, method, found, placements, configured=wish == configured(stored.monitor))


def configured(monitor: Monitor) -> VariantKeys:
    return {METHOD: monitor.method}


def wishes(monitor: Monitor, chosen: str | None, tried: Sequence[str]) -> list[VariantKeys]:
    """What to replay: the methods that are named, each with every combination of the values to try.

    Where nothing is to be tried, the monitor's own method is replayed with its precision scaled, too.
    """
    names = _methods(monitor, chosen or ("" if tried else "all"))
    values = [_values(text) for text in tried]
    if values:
        combined = [dict(pairs) for pairs in itertools.product(*values)]
        return [{METHOD: name, **one} for name in names for one in combined]
    plain: list[VariantKeys] = [{METHOD: name} for name in names]
    return [*plain, *(scaled(monitor, {METHOD: monitor.method}, factor) for factor in FACTORS)]


def scaled(monitor: Monitor, wish: VariantKeys, factor: float) -> VariantKeys:
    """With the precision so many times as loose; as it is where it is 0, or there is none."""
    value, key = precision_of(monitor), find_question(monitor.question).precision
    return {**wish, key: tidy(value * factor)} if value else wish


def precision_of(monitor: Monitor) -> float | None:
    """The value of the question's precision key; of a list, the first one."""
    key = find_question(monitor.question).precision
    if not key:
        return None
    outer, _, inner = key.partition(".")
    value = getattr(monitor.params, outer, None)
    if inner:
        value = next((found for one in value or () if (found := getattr(one, inner)) is not None), None)
    return None if value is None else float(value)


def label_of(wish: VariantKeys) -> str:
    rest = [f"{key} {value}" for key, value in wish.items() if key != METHOD]
    return ", ".join([str(wish[METHOD]), *rest])


def tidy(value: float) -> float | int:
    """Six digits are enough for a precision."""
    short = float(f"{value:.6g}")
    return int(short) if short == int(short) else short


def _methods(monitor: Monitor, chosen: str) -> list[str]:
    """The monitor's own first: all others are compared with it."""
    if chosen == "all":
        names = sorted(name for _, name in methods(monitor.question))
    else:
        names = [name.strip() for name in chosen.split(",") if name.strip()]
        for name in names:
            find_method(monitor.question, name)
    return list(dict.fromkeys([monitor.method, *names]))


def _values(text: str) -> list[tuple[str, Any]]:
    """`tolerance=10,50` as pairs of the key and each value."""
    key, equals, rest = text.partition("=")
    if not (key.strip() and equals and rest.strip()):
        raise UsageError(f"--try {text!r}: write a key of the monitor and its values, such as tolerance=10,50")
    try:
        return [(key.strip(), yaml.safe_load(value)) for value in rest.split(",")]
    except yaml.YAMLError as error:
        raise UsageError(f"--try {text!r}: a value cannot be read as YAML ({error})") from error


def _put(said: dict[str, Any], key: str, value: Any) -> None:
    """Sets a key of the file. A dot leads to a method's option, or into each entry of a list that has the key."""
    outer, dot, inner = key.partition(".")
    if not dot:
        said[key] = value
    elif isinstance(said.get(outer), list):
        for entry in said[outer]:
            if entry.get(inner) is not None:
                entry[inner] = value
    else:
        said["options"].setdefault(outer, {})[inner] = value


def refuse_none(chosen: Chosen, name: str) -> None:
    """UsageError where nothing can be replayed."""
    if not chosen.variants:
        first = chosen.left_out[0]
        raise UsageError(f"{name}: nothing can be replayed: {first.label} {first.why}")
