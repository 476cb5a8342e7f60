"""What the set-up needs from the machine, and the one sentence it says where the machine lacks it."""

from __future__ import annotations

import ast
import errno
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

JAVA_VERSIONS = (17, 21)
BYTES_NEEDED = 3 * 10**9
BYTES_OF_A_FULL_DISK = 20 * 10**6
JAVA_REMEDY = (
    "install Java 17 (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17), "
    "or let JAVA_HOME point to it"
)
# The caller's environment must not leak into the one being made: neither its modules nor another Spark.
# PYTHONDONTWRITEBYTECODE would leave the packages uncompiled, and every later start slow.
UNWANTED = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "SPARK_HOME")
# What pip was told about the network, in uv's words.
HANDED_TO_UV = {
    "index-url": ("UV_DEFAULT_INDEX",),
    "extra-index-url": ("UV_INDEX",),
    "cert": ("SSL_CERT_FILE",),
    "proxy": ("HTTPS_PROXY", "HTTP_PROXY"),
}
REASONS = (
    (
        r"No space left on device|Disk quota exceeded|os error 28\b",
        "the disk is full; free some space (set-up needs about 3 GB), then run it again",
    ),
    (
        r"(?i)ensurepip is not available|No module named '?(ensurepip|venv)",
        "this Python lacks the venv module; install it (Debian, Ubuntu: apt install python3-venv), "
        "then run set-up again",
    ),
    (
        r"(?i)hash mismatch|do not match the hashes",
        "a downloaded package does not have the hash that requirements.lock records; run set-up again, "
        "and if that repeats, the package index or a cache in between serves altered files",
    ),
    (
        r"(?i)UnknownIssuer|certificate verify failed|invalid peer certificate|PKIX path",
        "the server's certificate is not trusted; let SSL_CERT_FILE (for Java: its trust store) name the "
        "certificates of your network, then run set-up again",
    ),
    (
        r"(?i)dns error|failed to lookup|name resolution|nodename nor servname|unknown host|"
        r"host \S+ not found|connection refused|network is unreachable|failed to establish a new connection|"
        r"timed out|tcp connect error|error sending request|failed to fetch|unresolved dependenc|"
        r"no matching distribution",
        "the network cannot be reached; connect (behind a proxy set HTTPS_PROXY, and for Java "
        "JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=... -Dhttps.proxyPort=...), then run set-up again",
    ),
)


class SetupError(Exception):
    """Why the set-up cannot go on: one sentence that names the cause and the remedy."""


def check_java(environ: Mapping[str, str]) -> None:
    """The Java that Spark's launcher will take (JAVA_HOME, else PATH) has to be one that Spark supports."""
    home = environ.get("JAVA_HOME")
    found = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise SetupError(f"Java is missing: no java on PATH and JAVA_HOME is not set; {JAVA_REMEDY}")
    try:
        asked = subprocess.run(
            [found, "-version"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=dict(environ),
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        where = f"JAVA_HOME is {home}, but {found}" if home else found
        raise SetupError(f"Java cannot be started: {where} does not run ({error}); {JAVA_REMEDY}") from error
    version = re.search(r'version "(?:1\.)?(\d+)', asked.stderr + asked.stdout)
    if asked.returncode != 0 or version is None:
        raise SetupError(f"Java is missing: {found} -version gives no version; {JAVA_REMEDY}")
    if int(version.group(1)) not in JAVA_VERSIONS:
        accepted = " or ".join(map(str, JAVA_VERSIONS))
        raise SetupError(
            f"Java {version.group(1)} ({found}) does not suit Spark, which needs {accepted}; {JAVA_REMEDY}"
        )


def check_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < BYTES_NEEDED:
        raise SetupError(
            f"the disk of {folder} has {free / 1e9:.1f} GB left, but set-up needs about "
            f"{BYTES_NEEDED / 1e9:.0f} GB; free some space, then run it again"
        )


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in UNWANTED}


def network_settings_for_uv(pip_settings: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that tell uv what `pip config list` says, except those that the user has set for uv."""
    settings: dict[str, str] = {}
    for level in ("global", "install", ":env:"):  # a later level overrides an earlier one, as in pip
        for line in pip_settings.splitlines():
            key, _, value = line.partition("=")
            if key.rpartition(".")[0] == level:
                settings[key.rpartition(".")[2]] = " ".join(str(ast.literal_eval(value)).split())
    variables = {
        variable: settings[key]
        for key, names in HANDED_TO_UV.items()
        for variable in names
        if key in settings and variable not in environ
    }
    if "UV_INDEX" in variables:
        variables.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # pip's way; the hashes keep it safe
    return variables


def run(command: Sequence[str | Path], environ: Mapping[str, str], log: Path, lock: int | None = None) -> None:
    """Runs a command with its output in `log`; SetupError where it fails.

    The child inherits the lock: where the set-up is killed, the lock lasts until its orphan has ended too.
    """
    with log.open("ab") as output:
        start = output.tell()
        child = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            pass_fds=() if lock is None else (lock,),
        )
        try:
            wait_visibly(child)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    if child.returncode != 0:
        with log.open("rb") as output:
            output.seek(start)
            words = output.read().decode(errors="replace")
        program = str(command[2]) if command[1] == "-m" else Path(command[0]).name
        raise SetupError(explain(program, words, shutil.disk_usage(log.parent).free, log))


def wait_visibly(child: subprocess.Popen[bytes]) -> None:
    """Waits for the child; on a terminal a dot a second shows that something happens."""
    while True:
        try:
            child.wait(timeout=1)
            return
        except subprocess.TimeoutExpired:
            if sys.stdout.isatty():
                print(".", end="", flush=True)


def explain(program: str, words: str, free: int, log: Path) -> str:
    """The sentence for a failed command, from what it said and from the space that is left."""
    if free < BYTES_OF_A_FULL_DISK:
        return f"{program} failed: {REASONS[0][1]}"
    for pattern, sentence in REASONS:
        if re.search(pattern, words):
            return f"{program} failed: {sentence} (what it said: {log})"
    last = next((line.strip() for line in reversed(words.splitlines()) if line.strip()), "it said nothing")
    return f"{program} failed: {last[:300]} (all that it said: {log})"


def explain_os_error(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return REASONS[0][1]
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{error.filename} cannot be written; make it yours (chown) or remove it, then run set-up again"
    return f"{error}; mend that, then run set-up again"


def elapsed(since: float) -> str:
    return f"{time.monotonic() - since:.1f} s"
