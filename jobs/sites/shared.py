"""Spark jobs that several monitors and methods share: what they ask for at the same time goes through one job.

A method asks, then waits for what its sites say. Once all methods of a step wait, or have ended, their questions
are one job. Methods run in threads of their own for this, but never two at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.epoch.monitor_run import MonitorRun
from jobs.lake import Lake
from jobs.sites.needed import Needed
from jobs.sites.task import OUTPUT, SiteTask, SiteTasks, ddl_of
from jobs.terminal.console import say
from monitoring_lib import errors
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import SITE_STATES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DIGEST, SIZE = "digest", "payload_bytes"
"""Of a state that was written: the SHA-256 of its payload, and how large it is. The payload itself stays in Spark."""

COLLECTED = OUTPUT.append(pa.field(DIGEST, pa.string())).append(pa.field(SIZE, pa.int64()))


@dataclass
class SiteWork:
    """What one method's sites are to do, and what comes of it."""

    run: MonitorRun
    task: SiteTask
    write: str
    fill: Callable[[Needed, int], None]
    """Says which rows the task needs, under the number of its owner."""
    found: pa.Table | None = None
    failure: BaseException | None = None


@dataclass
class SharedJobs:
    """The Spark jobs of one step over one source."""

    lake: Lake
    _turn: threading.Condition = field(default_factory=threading.Condition)
    _running: int = 0
    _asked: list[SiteWork] = field(default_factory=list)

    def run_all(self, works: Mapping[Hashable, Callable[[], None]]) -> dict[Any, Exception]:
        """Does all works, whose questions are asked together; what each of them raised."""
        raised: dict[Any, Exception] = {}

        def do(name: Hashable, work: Callable[[], None]) -> None:
            with self._turn:
                try:
                    work()
                except Exception as error:  # it is raised again where the monitor is known
                    raised[name] = error
                finally:
                    self._running -= 1
                    self._ask_if_all_wait()

        threads = [threading.Thread(target=do, args=item, daemon=True) for item in works.items()]
        self._running = len(threads)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return raised

    def ask(self, question: SiteWork) -> pa.Table:
        """The rows of the question's sites, in the columns of a task's output, and those of a written state."""
        if not self._running:
            self._do([question])
        else:
            self._asked.append(question)
            self._ask_if_all_wait()
            self._turn.wait_for(lambda: question.found is not None or question.failure is not None)
        if question.failure is not None:
            raise question.failure
        assert question.found is not None
        return question.found

    def _ask_if_all_wait(self) -> None:
        if self._asked and len(self._asked) == self._running:
            questions, self._asked = self._asked, []
            try:
                self._do(questions)
            except BaseException as error:
                for question in questions:
                    question.failure = error
            self._turn.notify_all()

    def _do(self, questions: Sequence[SiteWork]) -> None:
        run = questions[0].run
        needed = Needed(self.lake, run.source.name, run.clock)
        for owner, question in enumerate(questions):
            question.fill(needed, owner)
        found = self._mapped(needed, SiteTasks(tuple(question.task for question in questions)), questions)
        for owner, question in enumerate(questions):
            own = found.filter(pc.equal(found["owner"], owner))
            question.failure = _error(own)
            question.found = own

    def _mapped(self, needed: Needed, tasks: SiteTasks, questions: Sequence[SiteWork]) -> pa.Table:
        """What the tasks say. States are written where they are made; only what else was said comes here."""
        order = ("owner", "site", "epoch", "round")
        rows = needed.frame().repartition("owner", "site").sortWithinPartitions(*order)
        said = rows.mapInArrow(tasks, ddl_of(OUTPUT))
        if not _observes(questions):
            return _collected(said)
        kept = said.persist()
        try:
            self.lake.site_tables.append(SITE_STATES, _stamped(kept.where("kind = 'state'"), questions))
            return _collected(kept)
        finally:
            kept.unpersist()


def _observes(questions: Sequence[SiteWork]) -> bool:
    return any(question.task.does == "observe" for question in questions)


def _stamped(rows: DataFrame, questions: Sequence[SiteWork]) -> DataFrame:
    from pyspark.sql import functions as F

    def of_owner(values: Sequence[Any]) -> Column:
        return F.element_at(F.array(*map(F.lit, values)), (F.col("owner") + 1).cast("int"))

    starts = [to_datetime(question.run.start_of(question.task.epoch)) for question in questions]
    columns: dict[str, Sequence[Any]] = {
        "monitor": [question.run.monitor.name for question in questions],
        "method": [question.task.method.name for question in questions],
        "epoch_start": starts, "day": [start.date() for start in starts],
        "write": [question.write for question in questions],
    }  # fmt: skip
    return rows.withColumns({name: of_owner(values) for name, values in columns.items()})


def _collected(rows: DataFrame) -> pa.Table:
    from pyspark.sql import functions as F

    state = F.col("kind") == "state"
    told = rows.withColumns(
        {
            DIGEST: F.when(state, F.sha2("payload", 256)),
            SIZE: F.when(state, F.octet_length("payload").cast("bigint")),
            "payload": F.when(~state, F.col("payload")),
        }
    )  # fmt: skip
    return pa.table(told.toArrow()).select(COLLECTED.names).cast(COLLECTED)


def _error(rows: pa.Table) -> Exception | None:
    """The first, by site, of what an owner's sites raised."""
    raised = rows.filter(pc.equal(rows["kind"], "error")).sort_by("site").to_pylist()
    if not raised:
        return None
    kind, reason = raised[0]["letter"], raised[0]["reason"]
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, errors.FarwatchError):
        return known(reason)
    say(raised[0]["form"].rstrip())
    return errors.DataError(f"{kind}: {reason}")
