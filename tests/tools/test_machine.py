"""What the set-up asks of the machine, and what it says where the machine lacks it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import machine


def one_sentence(text: str) -> bool:
    return "\n" not in text.strip() and "Traceback" not in text


@pytest.fixture
def java(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    def make(version: str) -> dict[str, str]:
        program = tmp_path / "java-home" / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
        program.chmod(0o755)
        return {"JAVA_HOME": str(tmp_path / "java-home"), "PATH": os.defpath}

    return make


@pytest.mark.parametrize("version", ["17.0.15", "21.0.1", "21-ea"])
def test_a_java_that_spark_supports_is_accepted(java: Callable[[str], dict[str, str]], version: str) -> None:
    machine.check_java(java(version))


@pytest.mark.parametrize(("version", "named"), [("1.8.0_392", "Java 8 "), ("11.0.2", "Java 11 ")])
def test_an_older_java_is_named_and_refused(java: Callable[[str], dict[str, str]], version: str, named: str) -> None:
    with pytest.raises(machine.SetupError, match=named) as refusal:
        machine.check_java(java(version))
    assert "install Java 17" in str(refusal.value)


def test_a_missing_java_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    for environ in ({"PATH": str(tmp_path)}, {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}):
        with pytest.raises(machine.SetupError, match="install Java 17") as refusal:
            machine.check_java(environ)
        assert one_sentence(str(refusal.value))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("error: failed to write\n  cause: No space left on device (os error 28)", "disk is full"),
        ("cause: dns error: failed to lookup address information", "network cannot be reached"),
        ("ERROR: No matching distribution found for uv==0.13.7", "network cannot be reached"),
        (":: UNRESOLVED DEPENDENCIES ::", "network cannot be reached"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "hash that requirements.lock records"),
        ("cause: invalid peer certificate: UnknownIssuer", "certificate is not trusted"),
        ("The virtual environment was not created because ensurepip is not available.", "python3-venv"),
        ("first\nsomething nobody foresaw\n\n", "something nobody foresaw"),
    ],
)
def test_what_a_failed_program_said_becomes_one_sentence(words: str, expected: str, tmp_path: Path) -> None:
    sentence = machine.explain("uv", words, 10**10, tmp_path / "setup.log")
    assert expected in sentence
    assert one_sentence(sentence)


def test_a_program_that_fails_on_a_full_disk_needs_no_words(tmp_path: Path) -> None:
    assert "disk is full" in machine.explain("uv", "", 4096, tmp_path / "setup.log")


def test_a_failing_program_stops_the_set_up_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(machine.SetupError, match="gone wrong"):
        machine.run(["sh", "-c", "echo gone wrong; exit 3"], dict(os.environ), tmp_path / "setup.log")


def test_uv_is_told_what_pip_was_told_unless_the_user_told_uv() -> None:
    settings = (
        ":env:.cert='/certs/company.pem'\nglobal.cert='/certs/old.pem'\nglobal.index-url='mirror'\n"
        "global.extra-index-url='\\none\\ntwo'\nglobal.timeout='60'\n"
    )
    assert machine.network_settings_for_uv(settings, {}) == {
        "SSL_CERT_FILE": "/certs/company.pem",
        "UV_DEFAULT_INDEX": "mirror",
        "UV_INDEX": "one two",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    chosen = machine.network_settings_for_uv(settings, {"UV_DEFAULT_INDEX": "own", "SSL_CERT_FILE": "own.pem"})
    assert "UV_DEFAULT_INDEX" not in chosen
    assert "SSL_CERT_FILE" not in chosen
