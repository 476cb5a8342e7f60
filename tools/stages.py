"""The stages of the set-up, each done once and repaired where it was interrupted.

A finished stage leaves a stamp: the digest of everything it depends on. A run compares stamps and does only
what differs, so a second run costs a few file reads. An installer that was killed can leave packages which
look whole and are not; such a stage is found by the file `begun` that it leaves, and the environment is then made anew.
"""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from machine import (
    SetupError,
    check_java,
    check_space,
    clean_environment,
    elapsed,
    explain_os_error,
    network_settings_for_uv,
    run,
)

DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
# Everything else that Delta asks for is in pyspark already (globs, as Ivy's exclusions understand them).
NOT_NEEDED = "com.*:*,org.*:*,commons-*:*,javax.*:*,io.airlift:*,io.unitycatalog:*"
PLAIN_PATH = ("--config-settings", "editable_mode=compat")
"""Our own folder as a plain path: setuptools' finder would cost every Python process 25 ms."""
OWN_PACKAGES = ("farwatch_airflow", "jobs", "monitoring_lib")
LONGEST_WAIT = 900.0


@dataclass(frozen=True)
class Stage:
    name: str
    title: str
    inputs: tuple[str, ...]
    act: Callable[[], None]
    # A killed run of a fragile stage leaves what only a new environment repairs.
    fragile: bool = False

    @property
    def digest(self) -> str:
        return hashlib.sha256("\0".join(self.inputs).encode()).hexdigest()


class Setup:
    """The environment of one work tree: where things are, and how each stage is done."""

    def __init__(self, root: Path, lock: int | None = None) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.home = self.venv / "share" / "farwatch"
        self.stamps = self.home / "stamps"
        self.jars = self.home / "jars"
        self.log = self.home / "setup.log"
        self.lock = lock
        self.environ = clean_environment(os.environ)

    def stages(self) -> list[Stage]:
        lock_text = read(self.root / "requirements.lock")
        present = [name for name in OWN_PACKAGES if (self.root / name / "__init__.py").exists()]
        python = "{}.{}".format(*sys.version_info[:2])
        installer = locked_section(lock_text, "uv")
        count = len(re.findall(r"^[A-Za-z0-9]", lock_text, re.MULTILINE))
        project = read(self.root / "pyproject.toml")
        return [
            Stage("venv", f"Python {python} environment in .venv", (python, str(self.venv)), self.make_venv),
            Stage("installer", "installer (uv)", (installer,), lambda: self.install_uv(installer), fragile=True),
            Stage("packages", f"{count} locked packages", (lock_text,), self.install_packages, fragile=True),
            Stage("jars", "Delta jars for Spark", (DELTA_PACKAGE, read(self.sums_file)), self.fetch_jars),
            Stage("project", "Farwatch itself", (lock_text, project, *PLAIN_PATH, *present), self.install_project),
        ]

    @property
    def sums_file(self) -> Path:
        return self.root / "tools" / "jars.sha256"

    def wanted_jars(self) -> dict[str, str]:
        lines = (line.split() for line in read(self.sums_file).splitlines() if line.strip())
        return {name: digest for digest, name in lines}

    # -- what is done, what is not ---------------------------------------------------------------------------

    def is_done(self, stage: Stage) -> bool:
        stamp = self.stamps / stage.name
        if not stamp.is_file() or stamp.read_text() != stage.digest:
            return False
        if stage.name == "venv":
            return self.python.exists()  # False for a link whose interpreter was removed
        if stage.name == "jars":
            return all(sha256(self.jars / name) == digest for name, digest in self.wanted_jars().items())
        return True

    def was_interrupted(self, stage: Stage) -> bool:
        return stage.fragile and self.begun_mark(stage).exists()

    def begun_mark(self, stage: Stage) -> Path:
        return self.stamps / f"{stage.name}.begun"

    def do(self, stage: Stage) -> None:
        begun = self.begun_mark(stage)
        self.stamps.mkdir(parents=True, exist_ok=True)
        (self.stamps / stage.name).unlink(missing_ok=True)
        begun.touch()
        stage.act()
        self.stamps.mkdir(parents=True, exist_ok=True)
        write_atomically(self.stamps / stage.name, stage.digest)
        begun.unlink(missing_ok=True)

    # -- the stages ------------------------------------------------------------------------------------------

    def make_venv(self) -> None:
        if self.venv.is_symlink():
            raise SetupError(f"{self.venv} is a link to elsewhere; remove it, then run set-up again")
        # Stamps go first: killed halfway, nothing may still claim to be done.
        for folder in (self.stamps, self.venv):
            if folder.exists():
                shutil.rmtree(folder)
        self.home.mkdir(parents=True)
        self.run(sys.executable, "-m", "venv", self.venv)

    def install_uv(self, section: str) -> None:
        requirement = self.home / "uv.txt"
        requirement.write_text(section)
        self.run(self.python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", requirement)
        requirement.unlink()

    def install_packages(self) -> None:
        # Building from source (pyspark comes no other way) takes its build tools from the lock as well.
        lock = self.root / "requirements.lock"
        self.uv(
            "sync",
            "--require-hashes",
            "--require-build-hashes",
            "--preview-features",
            "build-dependency-hashes",
            "--build-constraints",
            lock,
            "--compile-bytecode",
            lock,
        )

    def install_project(self) -> None:
        for name in OWN_PACKAGES:
            if not (self.root / name / "__init__.py").exists():
                raise SetupError(f"{self.root / name} is not a Python package; check the work tree out anew")
        self.uv("install", "--no-deps", "--no-build-isolation", "--reinstall", *PLAIN_PATH, "--editable", self.root)

    def fetch_jars(self) -> None:
        """Lets Spark's own resolver fetch Delta, keeps the recorded jars, and refuses any other content."""
        work = self.home / "ivy"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        nothing = work / "nothing.py"
        nothing.touch()
        environ = {**self.environ, "PYSPARK_PYTHON": str(self.python), "SPARK_LOCAL_IP": "127.0.0.1"}
        try:
            run(
                [
                    self.venv / "bin" / "spark-submit",
                    *("--master", "local[1]", "--packages", DELTA_PACKAGE, "--exclude-packages", NOT_NEEDED),
                    *("--conf", f"spark.jars.ivy={work}", "--conf", "spark.ui.enabled=false", nothing),
                ],
                environ,
                self.log,
                self.lock,
            )
            self.keep_jars(work / "jars")
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def keep_jars(self, fetched: Path) -> None:
        shutil.rmtree(self.jars, ignore_errors=True)
        self.jars.mkdir(parents=True)
        for name, wanted in self.wanted_jars().items():
            source = fetched / f"io.delta_{name}"
            found = sha256(source)
            if found is None:
                raise SetupError(
                    f"Spark's resolver did not bring {name}, which {self.sums_file} lists; run set-up again"
                )
            if found != wanted:
                raise SetupError(
                    f"the checksum of {name} is {found}, but {self.sums_file} records {wanted}: the download "
                    "is broken or altered; run set-up again, and if that repeats, mistrust the repository or "
                    "the cache in between"
                )
            source.replace(self.jars / name)

    def run(self, *command: str | Path) -> None:
        run(command, self.environ, self.log, self.lock)

    def uv(self, *words: str | Path) -> None:
        settings_file = self.home / "pip-settings.txt"
        settings_file.unlink(missing_ok=True)
        run([self.python, "-m", "pip", "config", "list"], self.environ, settings_file)
        handed = network_settings_for_uv(read(settings_file), self.environ)
        command = [
            self.venv / "bin" / "uv",
            "pip",
            words[0],
            "--python",
            self.python,
            "--color",
            "never",
            *words[1:],
        ]
        run(command, {**self.environ, **handed}, self.log, self.lock)

    # -- all of it -------------------------------------------------------------------------------------------

    def bring_up_to_date(self) -> bool:
        """Does what is not done; True where anything was."""
        stages = self.stages()
        if any(self.was_interrupted(stage) for stage in stages):
            print("The last set-up did not finish: making .venv anew.", flush=True)
            shutil.rmtree(self.stamps)
        if all(self.is_done(stage) for stage in stages):
            return False
        check_space(self.root)
        for stage in stages:
            if self.is_done(stage):
                continue
            start = time.monotonic()
            print(f"Setting up: {stage.title} ", end="", flush=True)
            try:
                self.do(stage)
            except BaseException:
                print("failed", flush=True)
                raise
            print(elapsed(start), flush=True)
        return True


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SetupError(f"{path} is missing; check the work tree out anew") from error


def sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def write_atomically(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.replace(path)


def locked_section(lock_text: str, package: str) -> str:
    """The lines of one package in the lock file: its version and its hashes."""
    found = re.search(rf"^{re.escape(package)}==.*\n(?:[ \t]+--hash=.*\n?)+", lock_text, re.MULTILINE)
    if found is None:
        raise SetupError(f"requirements.lock does not list {package} with hashes; check it out anew")
    return found.group(0)


@contextlib.contextmanager
def only_one_at_a_time(root: Path, longest_wait: float = LONGEST_WAIT) -> Iterator[int]:
    """Holds the set-up's lock; a second set-up of the same tree waits for the first."""
    descriptor = os.open(root / ".setup.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        deadline = time.monotonic() + longest_wait
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise SetupError(
                        "another set-up of this work tree does not end; stop it, then try again"
                    ) from error
                if not told:
                    print("Another set-up is at work here: waiting for it.", flush=True)
                    told = True
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)


def main(root: Path | None = None) -> int:
    root = root or Path(__file__).resolve().parent.parent
    start = time.monotonic()
    try:
        check_java(os.environ)
        with only_one_at_a_time(root) as lock:
            worked = Setup(root, lock).bring_up_to_date()
            for name in OWN_PACKAGES:
                # Where the machine forbids bytecode at run time, every start would compile our modules again.
                compileall.compile_dir(root / name, quiet=2, workers=1)
    except SetupError as error:
        print(f"Set-up stopped: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Set-up stopped: {explain_os_error(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nSet-up interrupted; the next run repairs and completes it.", file=sys.stderr)
        return 130
    print(f"Set-up {'complete' if worked else 'is up to date'} ({elapsed(start)}).", flush=True)
    return 0
