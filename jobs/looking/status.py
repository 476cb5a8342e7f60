"""`farwatch status`: how far every monitor has come, what waits, what is stale, who was missing, what was alerted."""

from __future__ import annotations

from jobs.epoch.context import Context
from jobs.looking import printing, standing_report
from jobs.looking.checking import problems
from jobs.looking.standing import standing
from monitoring_lib.errors import ExitCode


def run(as_json: bool = False, check: bool = False) -> ExitCode:
    """Prints the state of every source and monitor of the configuration, or with `check` only what is wrong."""
    context = Context.from_environment()
    sources = [standing(context, source) for _, source in sorted(context.config.sources.items())]
    if not check:
        standing_report.show(sources, as_json)
        return ExitCode.DONE
    found = [line for one in sources for line in problems(one)]
    if as_json:
        printing.print_json({"problems": found})
    else:
        for line in found:
            printing.line(line, "red")
    return ExitCode.FAILED if found else ExitCode.DONE
