"""`farwatch query`: a monitor's sealed answer with its bounds, or read-only SQL over everything sealed."""

from __future__ import annotations

from jobs.context import Context
from monitoring_lib.errors import UsageError


def run(
    monitor: str | None = None, *, epoch: str | None = None, history: int = 0, sql: str | None = None,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Prints the answer of the epoch that holds the time `epoch` (default: the last sealed), or a SQL result."""
    if (monitor is None) == (sql is None):
        raise UsageError("name a monitor, or ask by --sql 'SELECT …'; `farwatch status` lists the monitors")
    if sql is not None and (epoch is not None or history):
        raise UsageError("--epoch and --history belong to a monitor; write a WHERE into the SQL instead")
    if history < 0:
        raise UsageError(f"--history {history}: write a number of epochs, 1 or more")
    context = Context.from_environment()
    if sql is not None:
        from jobs.looking import sql_report

        sql_report.show(context, sql, as_json)
    else:
        from jobs.looking import answer_report
        from jobs.looking.answer import look

        assert monitor is not None
        answer_report.show(look(context, monitor, epoch, history), as_json)
