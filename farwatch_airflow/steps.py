"""The operator of one step of a source's epochs, and the asset events of what was sealed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from airflow.sdk import Asset, AssetAlias, Context
from airflow.sdk.exceptions import AirflowFailException

from farwatch_airflow.links import AnswersLink
from farwatch_airflow.operators import FarwatchOperator
from farwatch_airflow.timetable import EpochTimetable
from monitoring_lib.verbs import MEANINGS, VERBS

UNANNOUNCED = "sealed_but_unannounced"
"""Key of the XCom with the monitors that a failed `seal` has sealed."""
HEADLINE = ("epoch_start", "says", "partial", "sites", "missing_sites", "bytes", "shipping_bytes", "stale")
"""What an asset event repeats of `farwatch query --brief --json`, beside the first rows of the answer."""
MOST_ROWS = 20


class StepOperator(FarwatchOperator):
    """One step, `verb`, of the epochs that a run covers.

    The result is the step's hand-over, which the next step of the same task group gets. A run covers `from` to `to` of
    its form where both are given, else its data interval; a run without one (started by hand, without a logical date)
    covers the last interval that was complete when it was asked for.

    `seal` ends its log with each sealed answer, as `farwatch query --brief` prints it, links to the page with the
    answers, and announces the monitor by an asset event that carries the headline of the answer. Airflow drops the
    events of a task that fails: where some monitors were sealed and others not, `alert`, which runs in any case,
    announces them instead.
    """

    template_fields: Sequence[str] = ()

    def __init__(self, *, verb: str, source: str, timetable: EpochTimetable, task_id: str = "", **kwargs: Any) -> None:
        announces = verb in ("seal", "alert")
        super().__init__(
            task_id=task_id or verb,
            doc_md=MEANINGS[verb],
            outlets=[AssetAlias(f"farwatch-sealed-{source}")] if announces else [],
            **kwargs,
        )
        self.verb = verb
        self.source = source
        self.operator_extra_links = (AnswersLink(),) if verb == "seal" else ()
        self.timetable = timetable

    def execute(self, context: Context) -> str:
        interval = covered(self.timetable, context["dag_run"], context["params"])
        given = self._given(context)
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(given)
            file.flush()
            code, output, reason = self._run(
                self._step(interval, context["params"].get("revise"), file.name if given else "")
            )
        sealed = _sealed(output) if self.verb == "seal" else self._unannounced(context)
        if code == 0:
            if self.verb == "seal" and not sealed:
                self.log.info("Nothing was left to seal: another run has sealed this interval, its log has the answers")
            self._announce(context, sealed, interval)
        elif sealed and self.verb == "seal":
            # The next steps are not run, but `alert` is: it reads both.
            context["ti"].xcom_push(key="return_value", value=output)
            context["ti"].xcom_push(key=UNANNOUNCED, value=sealed)
        self._raise_failure(code, reason)
        return output

    def _step(self, interval: tuple[str, str], revise: str | None, given: str) -> list[str]:
        """The command line. `=` keeps whatever a person wrote from being read as an option."""
        options = {"source": self.source, "from": interval[0], "to": interval[1], "revise": revise, "given": given}
        return [self.verb, *(f"--{name}={value}" for name, value in options.items() if value)]

    def _sibling(self, verb: str) -> str:
        """The task that does another step of the same group."""
        return self.task_id.removesuffix(self.verb) + verb

    def _given(self, context: Context) -> str:
        """The last hand-over that any step before this one left: `alert` also runs after one that left none."""
        for verb in reversed(VERBS[: VERBS.index(self.verb)]):
            given = context["ti"].xcom_pull(task_ids=self._sibling(verb))
            if given:
                return str(given)
        return ""

    def _unannounced(self, context: Context) -> list[str]:
        if self.verb != "alert":
            return []
        return context["ti"].xcom_pull(task_ids=self._sibling("seal"), key=UNANNOUNCED) or []

    def _announce(self, context: Context, monitors: Sequence[str], interval: tuple[str, str]) -> None:
        for monitor, headline in zip(monitors, self._headlines(monitors), strict=True):
            extra = dict(zip(("from", "to"), interval, strict=True)) | headline
            for alias in self.outlets:
                context["outlet_events"][alias].add(asset_of(monitor), extra=extra)

    def _headlines(self, monitors: Sequence[str]) -> list[dict[str, Any]]:
        """Logs the answers and returns what an event repeats of each.

        They are sealed whether or not they can be shown now: where one of several cannot, each is asked for by itself.
        """
        if not monitors:
            return []
        code, output, reason = self._run(["query", *monitors, "--brief", "--json"])
        if code and len(monitors) > 1:
            return [headline for monitor in monitors for headline in self._headlines([monitor])]
        if code:
            self.log.warning("The answer of %s is sealed but could not be read now: %s", monitors[0], reason)
            return [{}]
        found = json.loads(output)
        answers = found if len(monitors) > 1 else [found]
        for answer in answers:
            for line in answer["text"]:
                self.log.info("%s", line)
        return [_headline(answer) for answer in answers]


def _headline(found: Mapping[str, Any]) -> dict[str, Any]:
    """What an event repeats of an answer; of one that every site gives, that of one site."""
    of_one = [row for row in found["answers"] if row["node"] == found["answers"][0]["node"]]
    rows = [{key: row[key] for key in ("rank", "key", "estimate", "low", "high")} for row in of_one[:MOST_ROWS]]
    return {key: found[key] for key in HEADLINE} | {"answers": rows}


def covered(timetable: EpochTimetable, dag_run: Any, params: Mapping[str, Any]) -> tuple[str, str]:
    """Start and end of what a run covers, as ISO 8601."""
    if bool(params.get("from")) != bool(params.get("to")):
        raise AirflowFailException("give both From and To, or neither")
    if params.get("from"):
        start, end = (datetime.fromisoformat(params[name]) for name in ("from", "to"))
    elif dag_run.data_interval_start is not None and dag_run.data_interval_end is not None:
        start, end = dag_run.data_interval_start, dag_run.data_interval_end
    else:
        start, end = timetable.last_complete(dag_run.run_after)
    return start.isoformat(), end.isoformat()


def asset_of(monitor: str) -> Asset:
    """What a DAG that wants to follow a monitor names as its schedule."""
    return Asset(name=f"farwatch-{monitor}", uri=f"farwatch://monitors/{monitor}")


def _sealed(handover: str) -> list[str]:
    """The monitors that a hand-over says are sealed."""
    return json.loads(handover)["sealed"] if handover else []
