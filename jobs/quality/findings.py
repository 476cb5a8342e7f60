"""What a check found, as the table `validations` keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from monitoring_lib.config.fields import Severity
from monitoring_lib.epochs import to_datetime

FindingSeverity = Literal["info"] | Severity
"""`info` is told to nobody: it is a row of the table."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One expectation about one epoch, of one site ('' for the whole) and one monitor ('' for the source)."""

    epoch_start: int
    expectation: str
    success: bool
    severity: FindingSeverity = "critical"
    monitor: str = ""
    site: str = ""
    observed: str = ""
    detail: str = ""

    @property
    def sets_aside(self) -> bool:
        """Whether a site is left out of the epoch for it."""
        return not self.success and self.severity == "critical" and self.site != ""


def to_rows(findings: Iterable[Finding], source: str, step: str, write: str) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    return [
        {
            "source": source, "monitor": finding.monitor, "epoch_start": to_datetime(finding.epoch_start),
            "step": step, "expectation": finding.expectation, "site": finding.site,
            "severity": finding.severity, "success": finding.success, "observed": finding.observed,
            "detail": finding.detail, "checked_at": now, "write": write,
        }
        for finding in findings
    ]  # fmt: skip
