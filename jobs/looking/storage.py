"""Whether the sites' storage is there at all: without it their tables would look empty."""

from __future__ import annotations

from jobs.lake import Lake
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import LANDINGS


def require_site_tables(lake: Lake) -> None:
    """StorageError if the sites' tables are gone; to be asked only once something has landed."""
    if lake.sites.open(LANDINGS) is None:
        raise StorageError(f"{lake.sites.root}: the sites' tables are not there; is their storage attached?")
