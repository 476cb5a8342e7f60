"""The only use of Great Expectations: a frame and a list of checks go in, the rows that break them come out.

Nothing is kept, sent, drawn or written: a context in memory, without telemetry or progress bars.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from jobs.quality.findings import FindingSeverity
from monitoring_lib.errors import ExpectationFailed

if TYPE_CHECKING:
    import pandas as pd

_COMPLETE = {
    "result_format": "COMPLETE", "include_unexpected_rows": False, "return_unexpected_index_query": False,
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One expectation by the name of its class, and what it is asked with."""

    name: str
    expectation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    severity: FindingSeverity = "critical"


@dataclass(frozen=True)
class FailedCheck:
    """A check that failed: at these rows of the frame, or as a whole where there are none to name."""

    severity: FindingSeverity
    rows: list[int] = field(default_factory=list)


def broken_checks(frame: pd.DataFrame, checks: Sequence[Check]) -> dict[str, FailedCheck]:
    """The checks that the frame breaks, by name. The frame's index is to be 0, 1, 2, ...

    Which rows fail is asked only where something does: that costs twice as much as a yes or no.
    """
    with silence():
        batch = _frames().get_batch({"dataframe": frame})
        told = batch.validate(_suite(checks), result_format="BOOLEAN_ONLY")
        if told.success:
            return {}
        failed = {_name(result) for result in told.results if not result.success}
        told = batch.validate(_suite([c for c in checks if c.name in failed]), result_format=_COMPLETE)
    # Results do not come back in the order of the suite.
    broken = {_name(result): _broken(result) for result in told.results if not result.success}
    return {check.name: broken[check.name] for check in checks if check.name in broken}


def _suite(checks: Sequence[Check]) -> Any:
    import great_expectations as gx

    return gx.ExpectationSuite(
        name="farwatch",
        expectations=[
            getattr(gx.expectations, check.expectation)(
                **check.arguments, severity=check.severity, meta={"name": check.name}
            )
            for check in checks
        ],
    )


def _name(result: Any) -> str:
    return str(result.expectation_config.meta["name"])


def _broken(result: Any) -> FailedCheck:
    told = result.exception_info or {}
    if "raised_exception" not in told or told["raised_exception"]:
        raise ExpectationFailed(f"{_name(result)} could not be evaluated: {_reason(told)}")
    rows = [int(row) for row in result.result.get("unexpected_index_list") or ()]
    return FailedCheck(cast(FindingSeverity, result.expectation_config.severity.value), rows)


def _reason(told: Mapping[str, Any]) -> str:
    """An exception of the whole check stands there itself, those of its parts each under a key."""
    parts = [told, *(part for part in told.values() if isinstance(part, Mapping))]
    return "; ".join(sorted({str(part["exception_message"]) for part in parts if part.get("exception_message")}))


@cache
def _frames() -> Any:
    """The definition under which any frame is validated; made once a process."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    # What an expectation has to say is in its result; the log repeats it, and goes to stderr by default.
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )
    context = gx.get_context(project_config=config, mode="ephemeral")
    return (
        context.data_sources.add_pandas("farwatch")
        .add_dataframe_asset("frame")
        .add_batch_definition_whole_dataframe("whole")
    )


@contextmanager
def silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
