"""The operators, over a stand-in for the command: what is logged, what is handed on, and how it fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dags.conftest import Described, in_own_process

INTERVAL = {"from": "1970-01-01T04:00:00+00:00", "to": "1970-01-01T05:00:00+00:00"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Described:
    folder = tmp_path_factory.mktemp("operate")
    return in_own_process("operate.py", {"AIRFLOW_HOME": str(folder / "airflow")}, str(folder))


def test_the_log_has_what_the_command_says_and_the_result_is_its_last_line(found: Described) -> None:
    case = found["well"]
    assert (case["result"], case["error"]) == ("last", None)
    assert case["log"] == ["Running farwatch query 'a b'", "one", "two", "three", "so query a b", "last"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [(1, "AirflowFailException"), (2, "AirflowFailException"), (3, "AirflowException"), (4, "AirflowFailException")],
)
def test_of_the_exit_codes_only_3_may_be_tried_again(found: Described, code: int, kind: str) -> None:
    [error, message] = found[f"code {code}"]["error"]
    assert error == kind
    assert message.startswith(f"farwatch ended with exit code {code} (")


def test_the_reason_of_a_failure_stands_in_the_log_once_and_last(found: Described) -> None:
    case = found["code 1"]
    assert case["log"][1:] == ["before"]
    assert case["error"][1].endswith("): no luck\nat all")


def test_only_the_last_reason_is_held_back_and_a_reason_without_failure_is_logged(found: Described) -> None:
    case = found["a reason that was not the last"]
    assert (case["log"][1:], case["error"][1].rpartition(": ")[2]) == (["a"], "b")
    assert found["a reason for nothing"]["log"][1:] == ["a warning", "fine"]
    assert found["a reason for nothing"]["result"] == "fine"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("code 77", "farwatch ended with exit code 77 (see the log above): no luck\nat all"),
        ("silent", "farwatch ended with exit code 1 (a promise or an expectation failed)"),
        ("absent", "the command `farwatch` could not be started: [Errno 2] No such file or directory: 'farwatch'"),
    ],
)
def test_a_command_without_words_fails_with_what_is_known(found: Described, case: str, message: str) -> None:
    assert found[case]["error"] == ["AirflowFailException", message]


def test_a_command_that_was_killed_may_be_tried_again(found: Described) -> None:
    assert found["died"]["error"] == ["AirflowException", "farwatch was ended by SIGKILL"]


@pytest.mark.parametrize(
    ("case", "kind", "message"),
    [
        ("too long", "AirflowFailException", "farwatch query took longer than 0:10:00 and was ended"),
        ("killed", "AirflowException", "farwatch was ended by SIGTERM"),
    ],
)
def test_a_timeout_and_a_kill_end_the_whole_process_group(found: Described, case: str, kind: str, message: str) -> None:
    assert found[case]["error"] == [kind, message]
    assert found[case]["gone"]


def test_a_step_is_a_command_line_without_a_shell_and_a_persons_words_are_one_argument(found: Described) -> None:
    options = [f"--from={INTERVAL['from']}", f"--to={INTERVAL['to']}", "--revise=--help $(touch never) ; {{ 1 }} 'x'"]
    assert found["odd"]["log"][1:] == ["gate", "--source=cdn", *options]


def test_a_step_gets_the_last_hand_over_that_any_step_before_it_left(found: Described) -> None:
    assert found["given"]["result"] == "of gate"
    assert found["given to alert"]["result"] == "of gate"


HEADLINE = {
    "epoch_start": "1970-01-01T00:00:00Z", "says": "valid (always)", "partial": False, "sites": 2, "missing_sites": [],
    "bytes": 10, "shipping_bytes": 90, "stale": None,
    "answers": [{"rank": 1, "key": "x", "estimate": 3.0, "low": 2.0, "high": 4.0}],
}  # fmt: skip


def announced(case: dict[str, Any], headline: dict[str, Any] = HEADLINE) -> list[str]:
    assert all(extra == INTERVAL | headline for _, extra in case["events"])
    return [name for name, _ in case["events"]]


def test_every_sealed_monitor_is_announced_with_its_interval(found: Described) -> None:
    assert announced(found["sealed"]) == ["farwatch-good", "farwatch-better"]
    assert announced(found["alert after all"]) == []


def test_a_command_is_done_by_the_process_that_stands_by(found: Described) -> None:
    asked = "asked for ['farwatch', 'query', 'a b']"
    well, failed = found["by a stand-by"], found["failed by a stand-by"]
    assert (well["result"], well["error"]) == ("last", None)
    assert [line.rpartition(" in ")[0] or line for line in well["log"]] == [
        "Running farwatch query 'a b'", asked, "two", "one", "last",
    ]  # fmt: skip
    assert failed["error"] == [
        "AirflowFailException", "farwatch ended with exit code 2 (wrong use or configuration): no luck",
    ]  # fmt: skip


def test_a_command_that_the_stand_by_does_not_do_runs_in_a_process_of_its_own(found: Described) -> None:
    assert found["refused by a stand-by"]["result"] == "own"
    assert found["nobody stands by"]["result"] == "own"


def test_a_command_whose_copy_of_the_stand_by_died_is_tried_again(found: Described) -> None:
    assert found["died in a stand-by"]["error"] == [
        "AirflowException",
        "farwatch ended with exit code 3 (storage or Spark could not be had): the stand-by's process that ran this step"
        " has died; try again",
    ]  # fmt: skip


def test_a_killed_task_ends_what_the_stand_by_does_for_it(found: Described) -> None:
    assert found["killed in a stand-by"]["error"] == ["AirflowException", "farwatch was ended by SIGTERM"]


def test_the_log_of_a_seal_ends_with_the_answers_as_query_prints_them(found: Described) -> None:
    assert [line for line in found["sealed"]["log"] if not line.startswith("Running")] == [
        "good: the answer",
        "valid (always), 2 of 2 sites",
        "better: the answer",
        "valid (always), 2 of 2 sites",
    ]


def test_a_seal_whose_answer_cannot_be_read_now_is_announced_all_the_same(found: Described) -> None:
    case = found["sealed, not read"]
    assert case["error"] is None
    assert announced(case, headline={}) == ["farwatch-good", "farwatch-better"]


def test_monitors_sealed_beside_one_that_failed_are_announced_by_the_alert(found: Described) -> None:
    """Airflow takes no events from a task that fails."""
    seal = found["sealed in part"]
    assert seal["error"][0] == "AirflowFailException"
    assert seal["pushed"]["return_value"] == '{"sealed": ["good", "better"]}'
    assert seal["pushed"]["sealed_but_unannounced"] == ["good", "better"]
    assert announced(found["alert after a part"]) == ["farwatch-good"]


def test_a_seal_that_sealed_nothing_announces_nothing(found: Described) -> None:
    assert found["not sealed"]["error"][1].endswith("none is sealed")
    assert (found["not sealed"]["pushed"], found["not sealed"]["events"]) == ({}, [])


def test_a_seal_that_finds_everything_sealed_says_where_the_answers_are(found: Described) -> None:
    assert found["nothing left to seal"]["error"] is None
    assert found["nothing left to seal"]["log"][-1].startswith("Nothing was left to seal")
