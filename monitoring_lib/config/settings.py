"""Settings of an installation: storage, Spark, where sites run, who is told."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from monitoring_lib.config.alerting import Alerts
from monitoring_lib.config.fields import Option
from monitoring_lib.methods import Keys


def _remote(text: str) -> str:
    if re.match(r"sc://[^/\s]+", text):
        return text
    raise ValueError("is no Spark Connect address; write sc://host:port")


def _location(text: str) -> str:
    """A path, or a URI with a scheme that storage engines know."""
    scheme = re.match(r"([A-Za-z][\w+.-]*)://", text)
    if scheme and scheme[1] not in ("s3", "s3a", "gs", "abfs", "abfss", "hdfs", "file"):
        raise ValueError("is no place for tables; write a path, or a URI such as s3a://bucket/folder")
    return text.rstrip("/") or "/"


TableLocation = Annotated[str, Field(min_length=1), AfterValidator(_location)]


class Storage(Keys):
    """Where the tables are. Relative paths start at FARWATCH_HOME."""

    coordinator: TableLocation = Field(
        default="var/coordinator", description="folder or URI of the coordinator's tables"
    )
    sites: TableLocation = Field(default="var/sites", description="folder or URI of the sites' tables")
    options: dict[str, Option] = Field(
        default_factory=dict, description="for an object store, as delta-rs names them; no secrets"
    )


class Spark(Keys):
    """How a Spark session is had."""

    mode: Literal["local", "connect"] = Field(default="local", description="in this process, or from a server")
    master: str = Field(default="local[2]", min_length=1, description="for mode local")
    remote: Annotated[str, AfterValidator(_remote)] | None = Field(
        default=None, description="address of the server for mode connect; without it the tooling starts one"
    )
    options: dict[str, Option] = Field(default_factory=dict, description="Spark's own settings")


class Settings(Keys):
    """The whole of farwatch.yml."""

    storage: Storage = Field(default=Storage(), description="where the tables are")
    spark: Spark = Field(default=Spark(), description="how a Spark session is had")
    sites_run: Literal["auto", "process", "spark"] = Field(
        default="auto", description="where the sites' side of a protocol runs"
    )
    alerts: Alerts = Field(default=Alerts(), description="who is told of what needs a person")
