"""What sites say."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Names
from monitoring_lib.network import NamesLetter


@dataclass(slots=True)
class NewItems(NamesLetter, tag=1, version=1):
    """Items that the site has not sent before; with a sliding window, all of the epoch."""

    names: Names
