"""The error tree and the exit codes."""

from __future__ import annotations

import re

import pytest

from monitoring_lib import errors
from monitoring_lib.errors import ExitCode, FarwatchError

DRAWN = re.findall(r"^([│├└─ ]*)(\w+)(?: +(\d))?(?:  .*)?$", errors.__doc__.split("\n\n", 1)[1], re.MULTILINE)


def defined() -> dict[str, type[FarwatchError]]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FarwatchError)]
    return {kind.__name__: kind for kind in kinds}


def test_the_tree_drawn_atop_the_module_is_the_tree_of_the_classes() -> None:
    path: list[str] = []
    for lines, name, _ in DRAWN:
        depth = len(lines) // 4
        path[depth:] = [name]
        parents = [kind.__name__ for kind in defined()[name].__mro__ if kind.__name__ in defined()]
        assert parents == path[::-1]
    assert [name for _, name, _ in DRAWN] == list(defined())


def test_each_error_ends_the_command_with_the_code_drawn_beside_it() -> None:
    assert {name: int(code) for _, name, code in DRAWN if code} == {
        name: kind.exit_code for name, kind in defined().items() if name != "FarwatchError"
    }


def test_exit_codes_are_the_documented_five() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0, "FAILED": 1, "WRONG_USE": 2, "RETRY": 3, "NOT_NOW": 4,
    }  # fmt: skip


@pytest.mark.parametrize("kind", defined().values(), ids=defined())
def test_every_error_is_documented_and_keeps_its_message(kind: type[FarwatchError]) -> None:
    assert kind.__doc__
    assert str(kind("what, where, remedy")) == "what, where, remedy"
    assert kind.exit_code is not ExitCode.DONE
