"""The letter of requery alone."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.network import Letter


@dataclass(slots=True)
class Changed(Letter, tag=16, version=1):
    """Sums of the site have changed, so that the answer may have."""
