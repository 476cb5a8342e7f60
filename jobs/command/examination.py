"""What `farwatch doctor` looks at: the machine, the packages, the servers, and the tables of a deployment."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from packaging.requirements import Requirement

from jobs.epoch.context import Context
from jobs.lake.upkeep import held_since
from jobs.local import up_down
from jobs.local.servers.process import accepts_connections, is_guard
from jobs.looking.standing import standing
from jobs.spark.options import delta_jars
from jobs.spark.session import REMOTE
from jobs.spark.token import split_token, token_file
from jobs.terminal.wording import counted, printable, size
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.errors import FarwatchError, UsageError
from monitoring_lib.tables import EPOCHS, TABLES

OLDEST_JAVA = 17
LEAST_FREE = 2 * 1024**3
MOST_SKEW = 5.0
"""Seconds that the clock of the storage may differ from this machine's."""
PATIENCE = 3.0
LONGEST_HELD = 3600.0
"""Seconds after which whoever holds a lock of a table most likely hangs."""


@dataclass(frozen=True)
class Line:
    """One thing that was looked at; `remedy` says what to do where it is not well."""

    subject: str
    says: str
    remedy: str = ""

    @property
    def is_well(self) -> bool:
        return not self.remedy


def of_machine() -> Iterator[Line]:
    yield _java()
    try:
        yield Line("Delta jars", counted(len(delta_jars()), "jar"))
    except UsageError as error:
        yield Line("Delta jars", str(error), "run `make setup`")
    yield from _packages()


def _java() -> Line:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None) or shutil.which("java")
    if found is None:
        return Line("Java", "no `java` on PATH", f"install Java {OLDEST_JAVA}, or set JAVA_HOME")
    done = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=60, check=False)
    version = re.search(r'version "(\d+)', done.stderr + done.stdout)
    if version is None:
        return Line("Java", f"{found} does not say its version", f"install Java {OLDEST_JAVA}, or set JAVA_HOME")
    if int(version[1]) < OLDEST_JAVA:
        return Line("Java", f"{found} is Java {version[1]}", f"install Java {OLDEST_JAVA}, or set JAVA_HOME")
    return Line("Java", f"{version[1]} ({found})")


def _packages() -> Iterator[Line]:
    """Every package that an installed extra pins, against what is there."""
    wanted = [Requirement(text) for text in metadata.requires("farwatch") or ()]
    wrong = []
    looked_at = 0
    for one in wanted:
        if one.marker is not None and not one.marker.evaluate({"extra": "spark"}):
            continue
        looked_at += 1
        try:
            version = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{one.name} is missing")
            continue
        if not one.specifier.contains(version, prereleases=True):
            wrong.append(f"{one.name} is {version}, not {one.specifier}")
    if wrong:
        yield Line("packages", "; ".join(wrong), "run `make setup`, or install again from requirements.lock")
    else:
        yield Line("packages", f"{counted(looked_at, 'package')} as declared")


def of_deployment(context: Context) -> Iterator[Line]:
    for name, path in (("coordinator", context.config.settings.storage.coordinator),
                       ("sites", context.config.settings.storage.sites)):  # fmt: skip
        if "://" in path:
            yield Line(f"storage of {name}", printable(path, 200))
        else:
            yield from _folder(name, context.home / path)
    yield _spark(context)
    yield _token(context)
    yield from _servers()
    yield from _locks(context)
    yield from _tables(context)


def _folder(name: str, folder: Path) -> Iterator[Line]:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    says = f"{folder}: {size(free)} free"
    if free < LEAST_FREE:
        yield Line(f"disk of {name}", says, f"make room: less than {size(LEAST_FREE)} is left")
    else:
        yield Line(f"disk of {name}", says)
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".farwatch-doctor-") as file:
            skew = os.stat(file.name).st_mtime - time.time()
    except OSError as error:
        yield Line(f"disk of {name}", f"{there} cannot be written to ({error.strerror})", "give this user the right to")
        return
    if abs(skew) > MOST_SKEW:
        yield Line(f"clock of {name}", f"its storage is {skew:+.0f} s from this machine", "set both clocks by NTP")
    else:
        yield Line(f"clock of {name}", "its storage and this machine agree")


def _remote(context: Context) -> str | None:
    settings = context.config.settings.spark
    return os.environ.get(REMOTE) or (settings.remote if settings.mode == "connect" else None)


def _spark(context: Context) -> Line:
    remote = _remote(context)
    if not remote:
        return Line("Spark", f"a session in each process ({context.config.settings.spark.master})")
    try:
        address, _ = split_token(remote)
    except FarwatchError as error:
        return Line("Spark", str(error), "start the server again: `farwatch up`")
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 15002), PATIENCE).close()
    except OSError as error:
        return Line("Spark", f"no Connect server answers at {address} ({error})", f"start it, or correct {REMOTE}")
    return Line("Spark", f"a Connect server answers at {address}")


def _token(context: Context) -> Line:
    """Without a token, whoever reaches a Spark Connect server runs code as its owner."""
    path = token_file(_remote(context) or "")
    if path is None:
        says = "no Spark Connect server" if not _remote(context) else "the address of the Spark server names none"
        return Line("token", says)
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Line("token", f"{path} can be read by others", f"chmod 600 {path}, then start the server again")
    if not path.exists():
        return Line("token", f"{path} is not there", "start the server again: `farwatch down`, then `farwatch up`")
    return Line("token", f"{path}, for its owner alone")


def _port(url: str) -> Line:
    """Of the user interface that runs, or that `farwatch up` would start."""
    port = urlsplit(url).port or up_down.USUAL_PORT
    answers = accepts_connections(port)
    if url and not answers:
        return Line("port", f"nothing answers at {url}", "run `farwatch down`, then `farwatch up`")
    if url:
        return Line("port", f"{port} answers")
    return Line("port", f"{port} is taken: `farwatch up` takes another one" if answers else f"{port} is free")


def _servers() -> Iterator[Line]:
    """What `farwatch up` says is running, and whether secrets are the owner's alone."""
    running = up_down.running()
    yield _port(running.url if running is not None else "")
    if running is None:
        yield Line("servers", "`farwatch up` has none running here")
        return
    dead = sorted(name for name, pid in running.guards.items() if not is_guard(pid))
    if dead:
        says = f"{', '.join(dead)} ended, and the record of `up` is left"
        yield Line("servers", says, "run `farwatch down`, then `farwatch up`")
    else:
        yield Line("servers", f"{', '.join(sorted(running.guards))} run; {running.url}")
    secret = Path(running.password_file)
    if secret.exists() and stat.S_IMODE(secret.stat().st_mode) & 0o077:
        yield Line("password", f"{secret} can be read by others", f"chmod 600 {secret}")


def _locks(context: Context) -> Iterator[Line]:
    held = {
        table.name: since for table in TABLES.values()
        if (since := held_since(context.lake.store_of(table).location(table))) is not None
    }  # fmt: skip
    stale = {name: since for name, since in held.items() if time.time() - since > LONGEST_HELD}
    for name, since in stale.items():
        says = f"the table {name} is being rewritten since {format_time(int(since * 1e6))}"
        yield Line("locks", says, "end that process (`fuser` names it), or restart the machine that holds it")
    if not stale:
        yield Line("locks", f"{counted(len(held), 'table')} being rewritten now" if held else "none is held")


def _tables(context: Context) -> Iterator[Line]:
    there = 0
    for table in TABLES.values():
        try:
            there += context.lake.store_of(table).open(table) is not None
        except FarwatchError as error:
            yield Line(f"table {table.name}", str(error), "restore the table from a copy")
    yield Line("tables", f"{there} of {counted(len(TABLES), 'table')} are there")
    if not there:
        yield Line("chains", "none yet")
        return
    yield from _clock_of_seals(context)
    stale, chains = 0, 0
    for _, source in sorted(context.config.sources.items()):
        for one in standing(context, source).monitors:
            chains += 1
            if one.stale is not None:
                stale += 1
                yield Line(f"chain of {one.monitor.name}", one.stale.why, f"`{one.stale.command}`")
    if not stale:
        yield Line("chains", f"{counted(chains, 'monitor')}, none stale")


def _clock_of_seals(context: Context) -> Iterator[Line]:
    newest = context.lake.centre.read(EPOCHS, (), ["sealed_at"])["sealed_at"].to_pylist()
    ahead = [moment for moment in newest if moment is not None and moment.timestamp() > time.time() + MOST_SKEW]
    if ahead:
        latest = format_time(to_microseconds(max(ahead)))
        yield Line("clock", f"a seal is from {latest}, which is still to come", "set this machine's clock by NTP")
