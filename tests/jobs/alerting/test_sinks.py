"""Every sink is told everything once: also one that was dead for a while, and whatever a notifier raises."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from email import message_from_string
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.alerting.sinks import deliver
from jobs.alerting.troubles import Look, Trouble
from jobs.alerting.turns import store
from jobs.epoch.context import Context
from monitoring_lib.config import load
from monitoring_lib.errors import ConfigError
from monitoring_lib.tables import DELIVERIES
from tests.jobs.alerting import recorder
from tests.jobs.alerting.servers import mail_server, webhook

KINDS = ("site silent",)


def deployed(home: Path, *sinks: Any, **more: Any) -> Context:
    (home / "conf/base").mkdir(parents=True, exist_ok=True)
    settings = {"alerts": {"sinks": list(sinks), **more}}
    (home / "conf/base/farwatch.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return Context(load(home / "conf"), home)


def silent(epoch: int) -> Trouble:
    return Trouble("site silent", epoch, "critical", "freshness does not hold at site 'süd'", "silent", site="süd")


def run(context: Context, *looks: Look) -> None:
    alerts = context.config.settings.alerts
    store(context.lake, "shop", looks, [sink.name for sink in alerts.sinks], alerts.remind)
    deliver(context, "shop")


def test_a_webhook_that_is_dead_for_three_runs_gets_each_alert_once_and_in_order(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        context = deployed(tmp_path, f"http://127.0.0.1:{port}/hook?token=secret", "file:told.jsonl")
        run(context, Look(1, KINDS, [silent(1)]))
        run(context, Look(2, KINDS, []))
        run(context, Look(3, KINDS, [silent(3)]))
    with webhook(port) as server:
        for epoch in (4, 5):
            run(context, Look(epoch, KINDS, [silent(epoch)]))
        told = server.told
    assert [one["state"] for one in told] == ["opened", "closed", "opened"]
    assert len((tmp_path / "told.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    names = {row["sink"] for row in context.lake.centre.read(DELIVERIES).to_pylist()}
    assert not any("secret" in name for name in names)


def test_a_server_that_answers_with_an_error_has_not_been_told(tmp_path: Path) -> None:
    with webhook() as server:
        context = deployed(tmp_path, f"http://127.0.0.1:{server.server_address[1]}/")
        server.status = 500
        run(context, Look(1, KINDS, [silent(1)]))
        server.status = 200
        run(context, Look(2, KINDS, [silent(2)]))
        assert len(server.told) == 2


def test_two_runs_at_once_tell_each_alert_once(tmp_path: Path) -> None:
    with webhook() as server:
        server.delay = 0.3
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        context = deployed(tmp_path, address)
        store(
            context.lake,
            "shop",
            [Look(1, KINDS, [silent(1)]), Look(2, KINDS, [])],
            [sink.name for sink in context.config.settings.alerts.sinks],
            0,
        )
        with ThreadPoolExecutor(3) as runs:
            list(runs.map(lambda _: deliver(deployed(tmp_path, address), "shop"), range(3)))
    assert [one["state"] for one in server.told] == ["opened", "closed"]


def test_what_a_webhook_receives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CTX_DAG_ID", "epochs-shop")
    monkeypatch.setenv("AIRFLOW_CTX_DAG_RUN_ID", "scheduled__2020-01-01T00:00:00+00:00")
    monkeypatch.setenv("AIRFLOW_CTX_TASK_ID", "alert")
    with webhook() as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        run(deployed(tmp_path, address, airflow="http://airflow:8080/"), Look(1, KINDS, [silent(3_600_000_000)]))
        [told] = server.told
    assert told["epoch_start"] == "1970-01-01T01:00:00Z"
    assert told["raised_at"].endswith("Z")
    assert {name: told[name] for name in ("source", "monitor", "site", "kind", "state", "severity")} == {
        "source": "shop", "monitor": "", "site": "süd", "kind": "site silent", "state": "opened",
        "severity": "critical",
    }  # fmt: skip
    assert told["text"] == "critical: shop, epoch 1970-01-01T01:00Z: freshness does not hold at site 'süd'. silent"
    page = "http://airflow:8080/dags/epochs-shop/runs/scheduled__2020-01-01T00%3A00%3A00%2B00%3A00"
    assert told["links"] == {"run": page, "log": f"{page}/tasks/alert"}


def test_a_mail_is_sent_for_each_alert(tmp_path: Path) -> None:
    with mail_server() as server:
        port = server.server_address[1]
        context = deployed(tmp_path, {"email": {"to": ["ops@example.org"], "host": "127.0.0.1", "port": port}})
        run(context, Look(1, KINDS, [silent(1)]))
        run(context, Look(2, KINDS, []))
        first, second = map(message_from_string, server.told)
    assert first["To"] == "ops@example.org"
    assert "all clear" in str(second["Subject"])
    assert "silent" in first.get_payload(decode=True).decode("utf-8")


def test_a_notifier_is_made_with_its_arguments_and_called_with_a_context(tmp_path: Path) -> None:
    recorder.CALLS.clear()
    path = "tests.jobs.alerting.recorder.RecordingNotifier"
    context = deployed(tmp_path, {"notifier": {"path": path, "arguments": {"channel": "ops"}}})
    run(context, Look(1, KINDS, [silent(1)]))
    run(context, Look(2, KINDS, [silent(2)]))
    [(arguments, given)] = recorder.CALLS
    assert arguments == {"channel": "ops"}
    assert given["alert"]["kind"] == "site silent"
    assert given["text"].startswith("critical: shop")


@pytest.mark.parametrize("path", ["no.such.Notifier", "tests.jobs.alerting.recorder.RecordingNotifier"])
def test_a_notifier_that_fails_is_named_and_stops_nothing(
    tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder.CALLS.clear()
    context = deployed(tmp_path, {"notifier": {"path": path, "arguments": {"fails": True}}}, "file:told.jsonl")
    run(context, Look(1, KINDS, [silent(1)]))
    assert f"notifier {path} did not take an alert" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "told.jsonl").exists()


@pytest.mark.parametrize(
    "sink", ["pager", "ftp://here", {"email": {}}, {"email": {"to": ["a@b"], "cc": 1}}, {"notifier": {"path": "x"}}, 3]
)
def test_what_is_no_sink_is_a_fault_of_the_configuration(tmp_path: Path, sink: Any) -> None:
    with pytest.raises(ConfigError, match="sinks"):
        deployed(tmp_path, sink)
