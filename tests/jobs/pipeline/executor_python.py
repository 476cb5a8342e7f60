"""A Python environment for Spark's executors, as docs/deployment.md says to make it, without a download.

Farwatch is installed into it; the locked packages are those of the environment that runs the tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALLED = ("pyproject.toml", "README.md", "LICENSE", "jobs", "monitoring_lib", "farwatch_airflow")


@dataclass(frozen=True)
class ExecutorPython:
    folder: Path

    @classmethod
    def make(cls, folder: Path, project: Path) -> ExecutorPython:
        made = cls(folder)
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        # A folder named in a .pth file is searched, but its own .pth files are not read: not that of our work tree.
        (made.packages / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")
        source = folder / "source"  # a build writes beside what it builds
        for name in INSTALLED:
            _copy(project / name, source / name)
        install = ["pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"]
        _run([str(Path(sys.executable).with_name("uv")), *install, "--python", str(made.executable), str(source)])
        shutil.rmtree(source)
        return made

    @property
    def executable(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder), "platbase": str(self.folder)}))

    def forget_imports(self) -> None:
        shutil.rmtree(self._compiled, ignore_errors=True)

    def has_run_sites(self) -> bool:
        """Whether the module of the sites' tasks was imported here: Python keeps what it has compiled beside it."""
        return any(self._compiled.glob("task.*.pyc"))

    @property
    def _compiled(self) -> Path:
        return self.packages / "jobs" / "sites" / "__pycache__"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
