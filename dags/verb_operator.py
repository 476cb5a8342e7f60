"""One step of an epoch: a `farwatch` command, its hand-over, and which of its failures are tried again."""

from __future__ import annotations

import json
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import Asset, AssetAlias, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

WORTH_RETRYING = 3
MEANINGS = {
    1: "a promise or an expectation failed",
    2: "wrong use or configuration",
    WORTH_RETRYING: "storage or Spark could not be had",
    4: "not now: a gap before this interval, or it is sealed already",
}
# Everything but the verb comes through the environment: nothing that a user or the data says is ever part of
# a command line. What the verb logs is shown as it comes; its hand-over is printed last, where Airflow looks.
COMMAND = """\
given=$(farwatch {verb} --source "$FARWATCH_SOURCE" --from "$FARWATCH_FROM" --to "$FARWATCH_TO" \
${{FARWATCH_REVISE:+--revise "$FARWATCH_REVISE"}}) || exit $?
printf '%s\\n' "${{given##*$'\\n'}}"
"""


class VerbOperator(BashOperator):
    """Runs one verb. Exit code 3 may be tried again, any other failure is final.

    Where the task has an asset alias as outlet, each monitor that its hand-over calls sealed gets an event.
    """

    def __init__(self, *, command: str | None = None, **arguments: Any) -> None:
        arguments.setdefault("bash_command", command or COMMAND.format(verb=arguments["task_id"]))
        super().__init__(append_env=True, skip_on_exit_code=None, **arguments)

    def execute(self, context: Context) -> Any:
        try:
            given = super().execute(context)
        except AirflowTaskTimeout as error:
            self.on_kill()
            raise AirflowFailException(f"{self.task_id} took longer than {self.execution_timeout}") from error
        except AirflowException as error:
            process = self.subprocess_hook.sub_process
            code = process.returncode if process else None
            if code == WORTH_RETRYING:
                raise
            meaning = MEANINGS.get(code, "see the log above")
            raise AirflowFailException(f"{self.task_id} ended with exit code {code}: {meaning}") from error
        for alias in self.outlets:
            if isinstance(alias, AssetAlias):
                self._emit(context["outlet_events"][alias], json.loads(given))
        return given

    def _emit(self, events: Any, given: dict[str, Any]) -> None:
        for monitor in sorted(set(given["monitors"]) - set(given["failed"])):
            interval = {"from": self.env["FARWATCH_FROM"], "to": self.env["FARWATCH_TO"]}
            events.add(asset_of(monitor), extra=interval)


def asset_of(monitor: str) -> Asset:
    """What a DAG that wants to follow a monitor names as its schedule."""
    return Asset(name=f"farwatch-{monitor}", uri=f"farwatch://monitors/{monitor}")
