"""Who is told: the log, a file, a webhook, a mailbox, an Airflow notifier. One that fails is tried again later."""

from __future__ import annotations

import importlib
import json
import os
import smtplib
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jobs.epoch.airflow_task import airflow_task
from jobs.epoch.context import Context
from jobs.lake import new_write
from jobs.lake.upkeep import alone
from jobs.looking.alert_words import whom
from jobs.terminal.console import say
from jobs.terminal.wording import printable
from monitoring_lib.config.alerting import Email, Notifier, Sink, SinkAddress
from monitoring_lib.tables import ALERTS, DELIVERIES

_PATIENCE = 10.0
_TURN = 60.0
"""Seconds that a run waits while another tells the sinks."""
_KEPT = timedelta(days=7)
"""An alert that a sink did not take for so long is not tried any more."""
_WORDS = {"opened": "", "reminded": "still: ", "closed": "all clear: "}


def deliver(context: Context, source: str) -> None:
    """Sends each sink the alerts that it lacks, oldest first; a failure is logged, and the next run tries again."""
    rows = context.lake.centre.read(ALERTS, [("source", "=", source)]).to_pylist()
    recent = [row for row in rows if row["raised_at"] >= datetime.now(UTC) - _KEPT]
    if not recent:
        return
    # An audit and an epoch, or two backfills, may come here at once.
    with alone(context.lake.centre.location(ALERTS), "telling", _TURN) as nobody_else:
        if nobody_else:
            _deliver(context, source, recent)
        else:
            say("another run is sending alerts to the sinks; the next run sends what it leaves", style="yellow")


def _deliver(context: Context, source: str, recent: Sequence[dict[str, Any]]) -> None:
    told = context.lake.centre.read(DELIVERIES, [("source", "=", source)], ["digest", "sink"]).to_pylist()
    done = {(row["digest"], row["sink"]) for row in told}
    write = new_write("deliver")
    for sink in context.config.settings.alerts.sinks:
        owed = [row for row in recent if sink.name in row["sinks"] and (row["digest"], sink.name) not in done]
        for row in sorted(owed, key=lambda row: (row["raised_at"], row["turn"])):
            if not _tell(context, sink, row):
                break  # those after it wait, so that an all-clear never comes first
            delivered = {
                "digest": row["digest"], "source": source, "sink": sink.name, "delivered_at": datetime.now(UTC),
                "write": write,
            }  # fmt: skip
            context.lake.append(DELIVERIES, [delivered])


def _tell(context: Context, sink: Sink, row: dict[str, Any]) -> bool:
    told = message(context, row)
    try:
        match sink:
            case SinkAddress(address="log"):
                styles = {"critical": "red", "warning": "yellow"}
                say(told["text"], style="green" if row["state"] == "closed" else styles[row["severity"]])
            case SinkAddress(address=address) if address.startswith("file:"):
                path = Path(context.path_of(address.removeprefix("file:")))
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(told, ensure_ascii=False) + "\n")
            case SinkAddress(address=address):
                body = json.dumps(told).encode()
                request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
                urllib.request.urlopen(request, timeout=_PATIENCE).close()
            case Email():
                _mail(sink, told)
            case Notifier():
                _notify(sink, told)
    except Exception as error:  # whatever a server or another's notifier does, the epoch goes on
        reason = f"{type(error).__name__}: {error}"
        say(
            f"the sink {sink.name} did not take an alert ({reason}); the next run tries again: {told['text']}",
            style="red",
        )
        return False
    return True


def message(context: Context, row: dict[str, Any]) -> dict[str, Any]:
    """What a webhook receives: times as ISO 8601, `text` for people."""
    site = f", site '{printable(row['site'])}'" if row["site"] and row["site"] not in row["subject"] else ""
    text = f"{_WORDS[row['state']]}{row['severity']}: {whom(row, site)}: {row['subject']}."
    links = _links(context.config.settings.alerts.airflow)
    names = ("source", "monitor", "site", "kind", "about", "state", "severity", "subject", "detail")
    return {
        "alert": row["digest"], **{name: row[name] for name in names}, "epoch_start": _iso(row["epoch_start"]),
        "raised_at": _iso(row["raised_at"]), "text": f"{text} {row['detail']}".strip(), "links": links,
    }  # fmt: skip


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _links(airflow: str | None) -> dict[str, str]:
    """To the run and its log, where the command runs as a task of Airflow."""
    found = airflow_task()
    if airflow is None or found is None:
        return {}
    dag, run, task = (quote(part, safe="") for part in found)
    page = f"{airflow.rstrip('/')}/dags/{dag}/runs/{run}"
    return {"run": page, "log": f"{page}/tasks/{task}"} if task else {"run": page}


def _mail(sink: Email, told: dict[str, Any]) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"] = sink.sender, ", ".join(sink.to)
    mail["Subject"] = f"Farwatch: {printable(told['text'], 120)}"
    lines = [told["text"], "", *(f"{name}: {address}" for name, address in told["links"].items())]
    mail.set_content("\n".join(lines).strip() + "\n")
    with smtplib.SMTP(sink.host, sink.port, timeout=_PATIENCE) as server:
        if sink.starttls:
            server.starttls()
        if sink.user is not None:
            server.login(sink.user, os.environ.get("FARWATCH_SMTP_PASSWORD", ""))
        server.send_message(mail)


def _notify(sink: Notifier, told: dict[str, Any]) -> None:
    """Calls the class as Airflow does: made with its arguments, then called with a context."""
    module, _, name = sink.path.rpartition(".")
    made: Any = getattr(importlib.import_module(module), name)(**sink.arguments)
    context = {"alert": told, "text": told["text"], "subject": told["subject"], "reason": told["detail"]}
    (made if callable(made) else made.notify)(context)


def names_of(sinks: Sequence[Sink]) -> list[str]:
    return [sink.name for sink in sinks]
