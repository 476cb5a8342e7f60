"""The monitor that a seal records, and its source, as they were when the epoch was sealed."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from jobs.lake.seals import Seal
from monitoring_lib.config import Monitor, Quality, Source
from monitoring_lib.config.columns import Unpivot, ValueColumn
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import UsageError
from monitoring_lib.protocols import find_method, find_question

_NOT_PLAIN = ("params", "shadow", "options", "quality")


def monitor_then(seal: Seal) -> Monitor:
    asked: dict[str, Any] = json.loads(seal.config)["monitor"]
    try:
        return Monitor(
            **{name: value for name, value in asked.items() if name not in _NOT_PLAIN},
            params=find_question(asked["question"]).Params(**asked["params"]),
            shadow=tuple(asked["shadow"]),
            quality=None if asked.get("quality") is None else Quality(**asked["quality"]),
            options={
                name: find_method(asked["question"], name).Options(**options)
                for name, options in asked["options"].items()
            },
        )
    except (KeyError, TypeError, ValidationError) as error:
        raise UsageError(
            f"{seal.monitor}, epoch {format_time(seal.epoch_start)}: sealed by release {seal.code_version} under a"
            f" configuration that this release cannot read ({error}); look at it with that one"
        ) from error


def source_then(seal: Seal) -> Source:
    """The source as far as answers depend on it: neither where its files lie nor how it is scheduled."""
    about: dict[str, Any] = json.loads(seal.config)["source"]
    values = {name: ValueColumn(**value) for name, value in about["values"].items()}
    unpivot = None if about["unpivot"] is None else Unpivot.model_construct(**about["unpivot"])
    unsaid = {"path": "", "schedule": about["epoch"]}
    return Source.model_construct(**about | unsaid | {"values": values, "unpivot": unpivot})
