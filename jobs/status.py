"""`farwatch status`: how far every monitor has come, what waits, what is stale, who was missing, what was alerted."""

from __future__ import annotations

from jobs.context import Context
from jobs.looking import standing_report
from jobs.looking.standing import standing


def run(as_json: bool = False) -> None:
    """Prints the state of every source and monitor of the configuration."""
    context = Context.from_environment()
    standing_report.show([standing(context, source) for _, source in sorted(context.config.sources.items())], as_json)
