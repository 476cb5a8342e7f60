"""Run as a script: lets the operators run a stand-in for `farwatch`, and says as JSON what came of it.

The stand-in is a shell script on PATH. Airflow is imported here and not in the
tests' own process: it takes over logging and settings.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow.sdk import AssetAlias
from airflow.sdk.exceptions import AirflowTaskTimeout
from airflow.sdk.execution_time.context import OutletEventAccessors
from airflow.sdk.execution_time.timeout import timeout

from farwatch_airflow import operators, steps
from farwatch_airflow.timetable import EpochTimetable
from monitoring_lib.standby import REFUSED, STANDBY

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("FAKE_FARWATCH", ".")
from fake_farwatch import answer

FOLDER = Path(sys.argv[1])
HOUR = 3_600_000_000
LONGEST = 600
SEALED = json.dumps({"sealed": ["good", "better"]})


class TaskInstance:
    """What an operator asks of its task instance."""

    def __init__(self, given: dict[tuple[str, str], Any]) -> None:
        self.given, self.pushed = given, {}

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> Any:
        return self.given.get((task_ids, key))

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def command(script: str) -> None:
    path = FOLDER / "farwatch"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def outcome(operator: operators.FarwatchOperator, context: dict[str, Any]) -> dict[str, Any]:
    lines: list[str] = []
    # The warning is Airflow's own: outside a task nobody calls `execute`.
    operators.FarwatchOperator.log = SimpleNamespace(
        info=lambda text, *parts: lines.append(text % parts), warning=lambda *_: None
    )
    result: dict[str, Any] = {"result": None, "error": None, "log": lines}
    try:
        with timeout(LONGEST):
            result["result"] = operator.execute(context)
    except (Exception, AirflowTaskTimeout) as error:
        result["error"] = [type(error).__name__, str(error)]
    return result


def plain(script: str) -> dict[str, Any]:
    command(script)
    operator = operators.FarwatchOperator(
        task_id="plain", arguments=["query", "a b"], home=str(FOLDER), env={"GIVEN": "so"},
        execution_timeout=timedelta(seconds=LONGEST),
    )  # fmt: skip
    # As Airflow does on SIGTERM: in the main thread, wherever it is.
    signal.signal(signal.SIGTERM, lambda *_: operator.on_kill())
    return outcome(operator, {})


def interrupted(number: int) -> dict[str, Any]:
    """A command with children, one of which does not end when it is told to, and a signal once they are there."""
    (FOLDER / "begun").unlink(missing_ok=True)

    def interrupt() -> None:
        while not (FOLDER / "begun").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    return plain("(trap '' TERM; sleep 600) & echo $! > child; sleep 600 & echo $! > new; mv new begun; wait") | {
        "gone": gone("begun", "child")
    }


def step(verb: str, script: str, given: dict[tuple[str, str], Any], revise: str | None = None) -> dict[str, Any]:
    command(script)
    timetable = EpochTimetable(0, HOUR)
    operator = steps.StepOperator(verb=verb, source="cdn", timetable=timetable, home=str(FOLDER))
    ti = TaskInstance(given)
    moment = timetable.last_complete(timetable._interval(5).start)
    run = SimpleNamespace(data_interval_start=moment.start, data_interval_end=moment.end)
    events = OutletEventAccessors()
    params = {"from": None, "to": None, "revise": revise}
    found = outcome(operator, {"ti": ti, "dag_run": run, "params": params, "outlet_events": events})
    announced = events[AssetAlias("farwatch-sealed-cdn")].asset_alias_events
    return found | {"pushed": ti.pushed, "events": [[event.dest_asset_key.name, event.extra] for event in announced]}


def answering(script: str) -> str:
    """The script, and an answer to whoever asks for one."""
    one = f"echo '{json.dumps(answer('WHICH'))}' | sed s/WHICH/"
    several = f'echo "[$({one}$2/), $({one}$3/)]"'
    return f"if [ $1 = query ]; then if [ $3 = --brief ]; then {one}$2/; else {several}; fi; else {script}; fi"


def is_running(name: str) -> bool:
    try:
        os.kill(int((FOLDER / name).read_text()), 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def standing_by(serve: Callable[[socket.socket, list[int]], None]) -> Iterator[None]:
    """A stand-in for the process that stands by: `serve` is given where the answer goes, and the streams."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(FOLDER / "standby.sock"))
        door.listen()

        def hear() -> None:
            line, _ = door.accept()
            with line:
                head, streams, _, _ = socket.recv_fds(line, 4, 3)
                wanted = json.loads(line.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL))
                os.write(streams[2], f"asked for {wanted['arguments']} in {Path(wanted['folder']).name}\n".encode())
                serve(line, streams)

        threading.Thread(target=hear, daemon=True).start()
        os.environ[STANDBY] = str(FOLDER / "standby.sock")
        yield
    del os.environ[STANDBY]
    (FOLDER / "standby.sock").unlink()


def answering_with(
    answer: bytes, output: bytes = b"", errors: bytes = b""
) -> Callable[[socket.socket, list[int]], None]:
    def serve(line: socket.socket, streams: list[int]) -> None:
        os.write(streams[1], output)
        os.write(streams[2], errors)
        for stream in streams:
            os.close(stream)
        line.sendall(answer)

    return serve


def waiting(line: socket.socket, streams: list[int]) -> None:
    """Has the task killed, and says nothing more until it hears that it is to end."""
    os.kill(os.getpid(), signal.SIGTERM)
    line.recv(1)
    for stream in streams:
        os.close(stream)


def gone(*names: str) -> bool:
    """Whether processes have ended; whoever inherits them may take a moment to notice."""
    deadline = time.monotonic() + 60
    while any(map(is_running, names)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_running, names))


def main() -> None:
    os.environ["PATH"] = os.pathsep.join([str(FOLDER), os.environ["PATH"]])
    found: dict[str, Any] = {}
    found["well"] = plain('echo one >&2; echo "$GIVEN $1 $2"; echo two >&2; echo last; echo three >&2')
    for code in (1, 2, 3, 4, 77):
        found[f"code {code}"] = plain(f"echo before >&2; echo 'farwatch: no luck' >&2; echo 'at all' >&2; exit {code}")
    found["a reason that was not the last"] = plain("echo 'farwatch: a' >&2; echo 'farwatch: b' >&2; exit 1")
    found["a reason for nothing"] = plain("echo 'farwatch: a warning' >&2; echo fine")
    found["silent"] = plain("exit 1")
    found["died"] = plain("kill -9 $$")
    found["too long"] = interrupted(signal.SIGALRM)  # how Airflow's own timeout comes
    found["killed"] = interrupted(signal.SIGTERM)
    with standing_by(answering_with(b"\0", b"one\nlast\n", b"two\n")):
        found["by a stand-by"] = plain("exit 77")
    with standing_by(answering_with(b"\2", errors=b"farwatch: no luck\n")):
        found["failed by a stand-by"] = plain("exit 77")
    with standing_by(answering_with(REFUSED)):
        found["refused by a stand-by"] = plain("echo own")
    with standing_by(answering_with(b"")):
        found["died in a stand-by"] = plain("exit 77")
    with standing_by(waiting):
        found["killed in a stand-by"] = plain("exit 77")
    os.environ[STANDBY] = str(FOLDER / "nobody.sock")
    found["nobody stands by"] = plain("echo own")
    del os.environ[STANDBY]
    odd = "--help $(touch never) ; {{ 1 }} 'x'"
    found["odd"] = step("gate", 'for a in "$@"; do echo "$a"; done >&2; echo {}', {}, revise=odd)
    previous = {("land", "return_value"): "of land", ("gate", "return_value"): "of gate"}
    found["given"] = step("summarise", 'for a in "$@"; do cat "${a#--given=}" 2>/dev/null; done; echo', previous)
    found["given to alert"] = step("alert", 'for a in "$@"; do cat "${a#--given=}" 2>/dev/null; done; echo', previous)
    found["sealed"] = step("seal", answering(f"echo '{SEALED}'"), {})
    unread = f"if [ $1 = query ]; then echo 'farwatch: busy' >&2; exit 3; fi; echo '{SEALED}'"
    found["nothing left to seal"] = step("seal", answering("echo '{\"sealed\": []}'"), {})
    found["sealed, not read"] = step("seal", unread, {})
    found["sealed in part"] = step("seal", f"echo '{SEALED}'; echo 'farwatch: worse is not sealed' >&2; exit 1", {})
    found["not sealed"] = step("seal", "echo 'farwatch: none is sealed' >&2; exit 1", {})
    unannounced = {("seal", steps.UNANNOUNCED): ["good"], ("seal", "return_value"): SEALED}
    found["alert after a part"] = step("alert", answering("echo {}"), unannounced)
    found["alert after all"] = step("alert", "echo {}", {("seal", "return_value"): SEALED})
    (FOLDER / "farwatch").unlink()
    os.environ["PATH"] = str(FOLDER)
    operator = operators.FarwatchOperator(task_id="absent", arguments=["query"], home=str(FOLDER))
    found["absent"] = outcome(operator, {})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
