"""Makes the project runnable: `.venv` with the locked packages, the project itself and the Delta jars.

Run by `make setup`, and by every target that needs it, with whatever `python3` the machine has. So this
file keeps to syntax that any Python 3 understands: it finds a supported interpreter, then hands over to
`stages`.
"""

import itertools
import os
import shutil
import subprocess
import sys

SUPPORTED = ((3, 11), (3, 12), (3, 13))
PROBE = "import sys, ensurepip; print(sys.implementation.name, *sys.version_info[:2])"


def is_supported(implementation: str, version: "tuple[int, ...]") -> bool:
    return implementation == "cpython" and tuple(version[:2]) in SUPPORTED


def find_supported() -> "str | None":
    """The path of the first usable interpreter that PATH offers under a versioned name."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for version, folder in itertools.product(SUPPORTED, folders):
        path = shutil.which("python%d.%d" % version, path=folder)
        if path is None:
            continue
        # A shim of a version manager can be on PATH without the version behind it: only running it tells.
        probe = subprocess.run(
            [path, "-c", PROBE],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if probe.returncode == 0 and probe.stdout.decode().split() == ["cpython"] + [str(n) for n in version]:
            return path
    return None


def interpreter_to_use() -> "str | None":
    """The interpreter that has to take over, '' where the running one will do, None where there is none."""
    if not is_supported(sys.implementation.name, tuple(sys.version_info)):
        return find_supported()
    if sys.prefix != sys.base_prefix:
        # Inside a virtual environment (perhaps the very one to be rebuilt): go on outside it.
        return getattr(sys, "_base_executable", "") or ""
    return ""


def main() -> int:
    successor = interpreter_to_use()
    if successor is None:
        print(
            "Set-up stopped: Farwatch needs Python 3.11, 3.12 or 3.13, but %s is Python %d.%d and no usable "
            "python3.11, python3.12 or python3.13 is on PATH; install one of them, or name it: "
            "make setup PYTHON=/path/to/python3.12" % (sys.executable, sys.version_info[0], sys.version_info[1]),
            file=sys.stderr,
        )
        return 1
    if successor and not os.environ.get("FARWATCH_SETUP_HANDED_OVER"):
        os.environ["FARWATCH_SETUP_HANDED_OVER"] = "1"
        os.execv(successor, [successor, os.path.abspath(__file__)])
    import stages

    return stages.main()


if __name__ == "__main__":
    sys.exit(main())
