"""What several methods ask at the same time is one Spark job; what one of them raises concerns no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from jobs.sites.shared import SharedJobs, SiteWork, _error
from jobs.sites.task import INPUT, OUTPUT, SiteTasks
from monitoring_lib.errors import DataError, ProtocolError


class Counted(SharedJobs):
    """Notes how many questions each job answers; each answer has a row a round."""

    def __init__(self, fails: str = "") -> None:
        super().__init__(lake=None)  # type: ignore[arg-type]  # no job reads a table here
        self.jobs: list[list[str]] = []
        self.fails = fails

    def _do(self, questions: Sequence[SiteWork]) -> None:
        self.jobs.append(sorted(question.write for question in questions))
        for question in questions:
            if question.write == self.fails:
                question.failure = ProtocolError(f"{question.write} does not hold")
            question.found = pa.table({"write": [question.write]})


def asked(jobs: SharedJobs, name: str) -> list[str]:
    question = SiteWork(run=None, task=None, write=name, fill=lambda needed, owner: None)  # type: ignore[arg-type]
    found: list[str] = jobs.ask(question)["write"].to_pylist()
    return found


def rounds(jobs: SharedJobs, name: str, count: int, heard: list[Any]) -> None:
    for _ in range(count):
        heard += asked(jobs, name)


def test_questions_that_are_asked_together_go_through_one_job_and_shorter_works_hold_up_nobody() -> None:
    jobs, heard = Counted(), {name: list[str]() for name in "abc"}
    works = {
        name: partial(rounds, jobs, name, count, heard[name]) for name, count in zip("abc", (3, 1, 2), strict=True)
    }
    assert jobs.run_all(works) == {}
    assert heard == {"a": ["a"] * 3, "b": ["b"], "c": ["c"] * 2}
    assert jobs.jobs == [["a", "b", "c"], ["a", "c"], ["a"]]


def test_a_work_that_asks_nothing_and_one_that_is_alone() -> None:
    jobs, heard = Counted(), list[str]()
    assert jobs.run_all({"silent": lambda: None, "a": partial(rounds, jobs, "a", 2, heard)}) == {}
    assert jobs.run_all({}) == {}
    assert asked(jobs, "later") == ["later"]
    assert jobs.jobs == [["a"], ["a"], ["later"]]


def test_what_one_work_raises_is_told_under_its_name_and_the_others_go_on() -> None:
    jobs, heard = Counted(fails="bad"), list[str]()
    raised = jobs.run_all({"bad": partial(rounds, jobs, "bad", 2, []), "a": partial(rounds, jobs, "a", 2, heard)})
    assert list(raised) == ["bad"]
    assert isinstance(raised["bad"], ProtocolError)
    assert heard == ["a", "a"]
    assert jobs.jobs == [["a", "bad"], ["a"]]


def test_a_job_that_fails_as_a_whole_fails_everybody_who_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Counted()

    def lost(questions: Sequence[SiteWork]) -> None:
        raise OSError("the server is gone")

    monkeypatch.setattr(jobs, "_do", lost)
    raised = jobs.run_all({name: partial(rounds, jobs, name, 1, []) for name in "ab"})
    assert {name: str(error) for name, error in raised.items()} == dict.fromkeys("ab", "the server is gone")


@dataclass
class Task:
    """Stands for a method at its sites."""

    error: Exception | None = None

    def run(self, rows: Any) -> pa.Table:
        if self.error is not None:
            raise self.error
        return pa.Table.from_pylist([{"site": rows.site, "kind": "message"}], OUTPUT)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_an_error_at_a_site_is_a_row_of_its_owner_alone(size: int) -> None:
    tasks = SiteTasks((Task(), Task(KeyError("unheard of")), Task(ProtocolError("widths"))))  # type: ignore[arg-type]
    rows = [{"owner": owner, "site": site, "kind": "roster", "epoch": -1} for owner in range(3) for site in "xy"]
    batches = pa.Table.from_pylist(rows, INPUT).to_batches(max_chunksize=size)
    found = pa.Table.from_batches(tasks(iter(batches)))
    told = zip(*(found[name].to_pylist() for name in ("owner", "site", "kind", "letter")), strict=True)
    assert sorted(told, key=str) == [
        (0, "x", "message", None), (0, "y", "message", None), (1, "x", "error", "KeyError"),
        (1, "y", "error", "KeyError"), (2, "x", "error", "ProtocolError"), (2, "y", "error", "ProtocolError"),
    ]  # fmt: skip
    by_owner = [_error(found.filter(pa.compute.equal(found["owner"], owner))) for owner in range(3)]
    assert by_owner[0] is None
    assert isinstance(by_owner[1], DataError)
    assert str(by_owner[1]) == "KeyError: 'unheard of'"
    assert isinstance(by_owner[2], ProtocolError)
    assert str(by_owner[2]) == "widths"
