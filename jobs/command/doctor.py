"""`farwatch doctor`: one line for each thing that Farwatch needs, and what to do where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.command import examination
from jobs.command.examination import Line
from jobs.epoch.context import Context
from jobs.looking import printing
from monitoring_lib.errors import ConfigError, ExitCode


def run(as_json: bool = False) -> ExitCode:
    found = list(_lines())
    ill = [line for line in found if not line.is_well]
    if as_json:
        plain = [
            {"subject": line.subject, "well": line.is_well, "says": line.says, "remedy": line.remedy} for line in found
        ]
        printing.print_json({"lines": plain, "well": not ill})
    else:
        for line in found:
            _show(line)
    return ExitCode.FAILED if ill else ExitCode.DONE


def _lines() -> Iterator[Line]:
    yield from examination.of_machine()
    try:
        context = Context.from_environment()
    except ConfigError as error:
        yield Line("configuration", str(error).splitlines()[0].rstrip(":"), "`farwatch check-config` names every fault")
        return
    yield Line("configuration", "no faults")
    yield from examination.of_deployment(context)


def _show(line: Line) -> None:
    if line.is_well:
        printing.line(f"ok    {line.subject}: {line.says}")
    else:
        printing.line(f"WRONG {line.subject}: {line.says}; {line.remedy}", "bold red")
