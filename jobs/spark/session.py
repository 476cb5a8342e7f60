"""The Spark session: one in this process, or an attachment to a Connect server. Never one a step."""

from __future__ import annotations

import atexit
import os
import socket
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jobs.spark.options import OTHER_SPARK, SENT_ALONG, spark_environment, spark_options
from jobs.spark.token import authorised, split_token
from monitoring_lib.config.settings import Spark
from monitoring_lib.errors import ConfigError, SparkUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_PORT = 15002
_PATIENCE = 5.0
_HOUR = 3_600
_RETRIES: dict[str, Any] = {"max_retries": 3, "initial_backoff": 200, "backoff_multiplier": 2.0, "max_backoff": 2_000}
"""Of a call that the server does not answer; pyspark's own patience with a dead server is ten minutes."""
REMOTE = "FARWATCH_SPARK_REMOTE"
"""Environment variable with the address of a Connect server; it goes before the configuration."""
_attachments: list[SparkSession] = []
"""Sessions of this process at Connect servers."""
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Environment variable by which spark-submit tells a script where the Java machine is that it has started."""


def open_session(settings: Spark, home: Path, *, bulk: bool = False) -> SparkSession:
    """The session that the configuration, or the environment, asks for; one of this process may expect much work."""
    remote = os.environ.get(REMOTE) or (settings.remote if settings.mode == "connect" else None)
    if remote:
        return _attached(*split_token(remote), home, settings)
    if settings.mode == "connect":
        raise ConfigError(f"spark.mode is connect, but neither spark.remote nor {REMOTE} says where the server is")
    return _local(settings, home, bulk)


def _attached(remote: str, token: str, home: Path, settings: Spark) -> SparkSession:
    # A client waits for a dead server without an error, so the port is tried first.
    address = urlsplit(remote)
    host, port = address.hostname or "", address.port or _CONNECT_PORT
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        raise SparkUnavailable(
            f"no Spark Connect server answers at {remote} ({error}); start it or correct {REMOTE}. One that"
            " `farwatch up` has started comes up again by itself"
        ) from error
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    try:
        session = SparkSession.builder.remote(authorised(_shared(remote, home), token)).getOrCreate()
        session.client.set_retry_policies([DefaultPolicy(**_RETRIES)])
        for name, value in {**SENT_ALONG, **settings.options}.items():
            if name.startswith("spark.sql."):  # the others are the server's own
                session.conf.set(name, value)
    except PySparkException as error:
        raise SparkUnavailable(f"the Spark Connect server at {remote} refused a session: {error}") from None
    _attachments.append(session)
    atexit.unregister(leave)
    atexit.register(leave)
    return session


def _shared(remote: str, home: Path) -> str:
    """The address with the name of a session that all steps of a deployment share for an hour.

    A session of its own would start Python workers of its own, which takes longer than most steps. The server
    drops one that nobody has used for an hour, so a name is not used for longer than that.
    """
    if "session_id=" in remote:
        return remote
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{home.absolute().as_uri()} {int(time.time()) // _HOUR}")
    return f"{remote.rstrip('/')}{';' if '/;' in remote else '/;'}session_id={name}"


def leave() -> None:
    """Hangs up. Left to itself, a client that exits tries for minutes to reach a server that is gone."""
    while _attachments:
        _attachments.pop().client.close()


def _local(settings: Spark, home: Path, bulk: bool) -> SparkSession:
    told = _told_by_spark_submit()
    os.environ.update(spark_environment(options=settings.options | told))
    for name in OTHER_SPARK:
        os.environ.pop(name, None)
    from pyspark.sql import SparkSession

    options = {"spark.master": settings.master, **spark_options(home / ".spark", settings.options, optimised=bulk)}
    builder = SparkSession.builder.appName("Farwatch")
    for name, value in options.items():
        if name not in told:
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # the Java gateway raises plain RuntimeErrors, among others
        raise SparkUnavailable(f"a local Spark session did not start: {error}") from error


def _told_by_spark_submit() -> dict[str, str]:
    """The settings of the spark-submit that has started this process, if one has: they go before the configuration."""
    if _SUBMITTED not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    told = dict(SparkConf().getAll())
    # Spark's other way to name the executors' Python
    if "PYSPARK_PYTHON" in os.environ:
        told.setdefault("spark.pyspark.python", os.environ["PYSPARK_PYTHON"])
    return told
