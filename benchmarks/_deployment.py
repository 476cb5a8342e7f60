"""A deployment of its own for a benchmark: a folder that is thrown away, and a Spark Connect server beside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from jobs.epoch.context import Context
from jobs.local.servers import spark_server
from jobs.local.servers.process import Servers
from jobs.spark.options import spark_options
from jobs.spark.session import REMOTE
from monitoring_lib.config import load


@contextmanager
def deployment(
    source: Mapping[str, Any] | Sequence[Mapping[str, Any]], monitors: Sequence[Mapping[str, Any]]
) -> Iterator[Context]:
    """The context of a home with this configuration; `data` is an empty folder in it."""
    sources = [source] if isinstance(source, Mapping) else source
    with tempfile.TemporaryDirectory() as name, Servers() as servers:
        home = Path(name)
        for kind, contents in {"sources": sources, "monitors": monitors}.items():
            (home / "conf/base" / kind).mkdir(parents=True)
            for content in contents:
                file = home / "conf/base" / kind / f"{content['name']}.yml"
                file.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")
        (home / "data").mkdir()
        # As `farwatch up` starts it: one that lives for days has all of Java's optimisations.
        java = "spark.driver.extraJavaOptions"
        server = spark_server.start(home / "spark", extra={java: spark_options(home, optimised=True)[java]})
        servers.add(server.server)
        os.environ |= {REMOTE: server.remote, "FARWATCH_HOME": str(home), "FARWATCH_CONF": str(home / "conf")}
        yield Context(load(home / "conf"), home)
