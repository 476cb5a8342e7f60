"""The set-up: what is done stays done, what was interrupted is repaired, a failure is one sentence."""

from __future__ import annotations

import ast
import errno
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import bootstrap
import machine
import stages

ROOT = Path(__file__).resolve().parents[2]
JAR = "delta-storage-4.4.0.jar"


def one_sentence(text: str) -> bool:
    return "\n" not in text.strip() and "Traceback" not in text


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree as small as the set-up accepts."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "requirements.lock").write_text("rich==1 \\\n    --hash=sha256:aa\nuv==2 \\\n    --hash=sha256:bb\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "tools" / "jars.sha256").write_text(f"{hashlib.sha256(b'jar').hexdigest()}  {JAR}\n")
    for name in stages.OWN_PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    return tmp_path


class FakeMachine:
    """Stands in for the programs that the set-up starts: notes each, does what it would do, or fails."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.jar = b"jar"
        self.failure: tuple[str, BaseException] | None = None

    def run(self, command: list[str | Path], environ: dict[str, str], log: Path, lock: int | None = None) -> None:
        words = [str(word) for word in command]
        if words[1:] == ["-m", "pip", "config", "list"]:
            log.write_text("")
            return
        kind = self.kind(words)
        self.commands.append(kind)
        if self.failure and self.failure[0] == kind:
            raise self.failure[1]
        if kind == "venv":
            python = Path(words[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        if kind == "spark-submit":
            ivy = next(word.partition("=")[2] for word in words if word.startswith("spark.jars.ivy="))
            (Path(ivy) / "jars").mkdir()
            (Path(ivy) / "jars" / f"io.delta_{JAR}").write_bytes(self.jar)

    @staticmethod
    def kind(words: list[str]) -> str:
        if words[0].endswith("spark-submit"):
            return "spark-submit"
        if words[1] == "-m":
            return words[2]
        return "sync" if "sync" in words else "project"


ALL_STAGES = ["venv", "pip", "sync", "spark-submit", "project"]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    fake = FakeMachine()
    monkeypatch.setattr(stages, "run", fake.run)
    monkeypatch.setattr(stages, "check_java", lambda environ: None)
    monkeypatch.setattr(stages, "check_space", lambda folder: None)
    return fake


def test_a_fresh_tree_goes_through_every_stage_and_a_second_run_through_none(tree: Path, fake: FakeMachine) -> None:
    assert stages.main(tree) == 0
    assert fake.commands == ALL_STAGES
    assert (tree / ".venv" / "share" / "farwatch" / "jars" / JAR).read_bytes() == b"jar"
    fake.commands.clear()
    assert stages.main(tree) == 0
    assert fake.commands == []


@pytest.mark.parametrize(
    ("changed", "redone"),
    [
        ("requirements.lock", ["sync", "project"]),
        ("pyproject.toml", ["project"]),
        (f".venv/share/farwatch/jars/{JAR}", ["spark-submit"]),
    ],
)
def test_only_what_depends_on_a_changed_file_is_done_again(
    tree: Path, fake: FakeMachine, changed: str, redone: list[str]
) -> None:
    stages.main(tree)
    fake.commands.clear()
    with (tree / changed).open("a") as file:
        file.write("# changed\n")
    assert stages.main(tree) == 0
    assert fake.commands == redone


def test_a_lost_interpreter_makes_the_environment_anew(tree: Path, fake: FakeMachine) -> None:
    stages.main(tree)
    fake.commands.clear()
    python = tree / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3.11")
    assert stages.main(tree) == 0
    assert fake.commands == ALL_STAGES


def test_a_moved_tree_makes_the_environment_anew(tree: Path, fake: FakeMachine) -> None:
    stages.main(tree)
    fake.commands.clear()
    moved = tree.rename(tree.with_name("moved"))
    assert stages.main(moved) == 0
    assert fake.commands == ALL_STAGES


@pytest.mark.parametrize("killed_in", ALL_STAGES)
def test_a_set_up_killed_in_any_stage_is_repaired_by_the_next_run(
    tree: Path, fake: FakeMachine, killed_in: str
) -> None:
    class Killed(BaseException):
        """Nothing in the set-up catches it, as nothing catches a kill."""

    fake.failure = (killed_in, Killed())
    with pytest.raises(Killed):
        stages.main(tree)
    fake.failure = None
    fake.commands.clear()
    assert stages.main(tree) == 0
    # A half-done installer cannot be trusted with what it wrote; the last two stages simply run again.
    expected = ALL_STAGES[ALL_STAGES.index(killed_in) :] if killed_in in ALL_STAGES[3:] else ALL_STAGES
    assert fake.commands == expected
    fake.commands.clear()
    assert stages.main(tree) == 0
    assert fake.commands == []


def test_a_jar_with_another_checksum_is_refused_and_not_kept(
    tree: Path, fake: FakeMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.jar = b"altered"
    assert stages.main(tree) == 1
    said = capsys.readouterr().err
    assert one_sentence(said)
    assert JAR in said
    assert "checksum" in said
    assert not (tree / ".venv" / "share" / "farwatch" / "jars" / JAR).exists()
    fake.jar = b"jar"
    assert stages.main(tree) == 0


def test_a_disk_that_fills_up_is_one_sentence(
    tree: Path, fake: FakeMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.failure = ("sync", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert stages.main(tree) == 1
    said = capsys.readouterr().err
    assert one_sentence(said)
    assert "disk is full" in said


def test_ctrl_c_ends_without_a_traceback(tree: Path, fake: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    fake.failure = ("sync", KeyboardInterrupt())
    assert stages.main(tree) == 130
    assert one_sentence(capsys.readouterr().err)


def test_too_little_space_is_said_before_anything_is_written(
    tree: Path, fake: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "check_space", machine.check_space)
    monkeypatch.setattr(machine, "BYTES_NEEDED", 10**18)
    assert stages.main(tree) == 1
    assert "GB left" in capsys.readouterr().err
    assert not (tree / ".venv").exists()


def test_a_second_set_up_waits_and_says_so(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        stages.only_one_at_a_time(tree),
        pytest.raises(machine.SetupError, match="does not end"),
        stages.only_one_at_a_time(tree, longest_wait=0.2),
    ):
        pass
    assert "waiting" in capsys.readouterr().out
    with stages.only_one_at_a_time(tree, longest_wait=0):
        pass


def test_the_lock_outlives_a_killed_set_up_until_its_child_has_ended(tree: Path) -> None:
    """An orphaned installer still writes into .venv: nobody may begin before it is through."""
    go_on = tree / "go-on"
    os.mkfifo(go_on)
    set_up = (
        "import os, sys, pathlib, stages, machine\n"
        "tree = pathlib.Path(sys.argv[1])\n"
        "with stages.only_one_at_a_time(tree) as lock:\n"
        "    machine.run(['sh', '-c', 'echo begun; read line < go-on'], os.environ, tree / 'log', lock)\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", set_up, str(tree)], cwd=tree, env=with_tools_on_path())
    while not (tree / "log").exists() or "begun" not in (tree / "log").read_text():
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    try:
        with pytest.raises(machine.SetupError), stages.only_one_at_a_time(tree, longest_wait=0.2):
            pass
    finally:
        go_on.write_text("\n")
    with stages.only_one_at_a_time(tree, longest_wait=30):
        pass


def with_tools_on_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "tools")}


def test_a_wrong_python_with_no_other_at_hand_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    assert bootstrap.main() == 1
    said = capsys.readouterr().err
    assert one_sentence(said)
    assert "is Python 3.8" in said
    assert "make setup PYTHON=" in said


def test_a_wrong_python_hands_over_to_a_usable_one_and_passes_by_an_empty_shim(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder, text in (("shims", "exit 127"), ("real", "echo cpython 3 11")):
        program = tmp_path / folder / "python3.11"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}{os.pathsep}{tmp_path / 'real'}")
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))
    assert bootstrap.interpreter_to_use() == str(tmp_path / "real" / "python3.11")


def test_the_installer_is_pinned_with_hashes_in_the_lock() -> None:
    section = stages.locked_section((ROOT / "requirements.lock").read_text(), "uv")
    assert section.startswith("uv==")
    assert "--hash=sha256:" in section
    assert "uvicorn" not in section


def test_the_bootstrap_keeps_to_syntax_of_old_pythons() -> None:
    ast.parse((ROOT / "tools" / "bootstrap.py").read_text(), feature_version=(3, 7))
