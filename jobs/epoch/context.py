"""What every job needs: the configuration, the tables, a Spark session if it comes to that."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.lake import Lake
from jobs.lake.store import Store
from monitoring_lib.config import Config, load
from monitoring_lib.errors import FarwatchError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _referred(*asked: Any) -> DataFrame | None:
    from jobs.landing.references import referred_events  # it needs all of reading, most steps none of it

    return referred_events(*asked)


_BULK = 64 << 20
"""Bytes of packed files, a few million events: from there on Java's optimisations save more than they take."""


@dataclass
class _KeptTables:
    """In a process that does one command after another: the tables that the one before has opened."""

    kept: bool = False
    last: Lake | None = None


_tables = _KeptTables()


def keep_tables() -> None:
    """From now on a command of this process goes on with the tables that the one before has opened."""
    _tables.kept = True


@dataclass
class Context:
    """A deployment as one process sees it. Relative paths start at `home`."""

    config: Config
    home: Path

    @classmethod
    def from_environment(cls) -> Context:
        home = Path(os.environ.get("FARWATCH_HOME", ".")).absolute()
        folder = Path(os.environ.get("FARWATCH_CONF", "conf"))
        made = cls(load(folder, os.environ.get("FARWATCH_ENV", "local")), home)
        if _tables.kept:
            if _tables.last is not None:
                made.lake.go_on_with(_tables.last)
            _tables.last = made.lake
        return made

    @cached_property
    def session(self) -> SparkSession:
        from jobs.spark.session import open_session

        return open_session(self.config.settings.spark, self.home, bulk=self._has_bulk())

    def _has_bulk(self) -> bool:
        """Whether the sources' files are so large that a slower start of Java pays."""
        paths = [source.path for source in self.config.sources.values() if "://" not in source.path]
        return sum(self._size_of(path) for path in paths) >= _BULK

    def _size_of(self, path: str) -> int:
        """Of the files that a pattern matches; what cannot be looked at is told by the `land` of its own source."""
        from jobs.input.files import find

        try:
            return sum(file.size for file in find(path, self.home))
        except FarwatchError:
            return 0

    @cached_property
    def lake(self) -> Lake:
        storage = self.config.settings.storage
        options = dict(storage.options)
        return Lake(
            Store(self.path_of(storage.coordinator), options),
            Store(self.path_of(storage.sites), options),
            lambda: self.session,
            _referred,
        )

    def path_of(self, path: str) -> str:
        """A configured path or URI as an absolute one."""
        return path if "://" in path else str(self.home / path)
