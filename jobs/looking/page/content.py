"""What the page shows, as plain JSON: read from sealed rows, thinned so that its size does not grow with history."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.epoch.context import Context
from jobs.looking import answer_report
from jobs.looking.answer import ShownAnswer, look
from jobs.looking.answer_tables import rows_at_the_end
from jobs.looking.page import lists
from jobs.looking.page.compared import comparison
from jobs.looking.page.costs import crossed, links
from jobs.looking.page.coverage import coverage
from jobs.looking.page.judged import verdicts
from jobs.looking.page.series import answers_over_time
from jobs.looking.page.shown import Shown
from jobs.looking.page.thinning import most_epochs
from jobs.looking.page.validity import why_valid
from jobs.looking.sealed_chain import chain_of
from jobs.looking.standing import MonitorStanding, SourceStanding, standing
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.errors import FarwatchError
from monitoring_lib.protocols import find_question
from monitoring_lib.tables import TABLES

MOST_ANSWERS = 200
"""Rows of the newest answer."""
_OVERVIEW_EPOCHS = 60
"""Of the small line."""


@dataclass(frozen=True)
class PageContent:
    """`overview` is what the page opens with; `details` holds, by monitor, what its own page shows."""

    overview: dict[str, Any]
    details: dict[str, dict[str, Any]]


def content(context: Context, only: Sequence[str] = ()) -> PageContent:
    """All monitors, or `only` these; sources with what waits and what was quarantined; alerts, checks and runs."""
    sources = [standing(context, source) for _, source in sorted(context.config.sources.items())]
    wanted = [
        (source, one) for source in sources for one in source.monitors if not only or one.monitor.name in only
    ]  # fmt: skip
    most = most_epochs(len(wanted))
    found = [_monitor(context, source, one, most) for source, one in wanted]
    now = int(time.time())
    overview = {
        "generated": format_time(now * 1_000_000),
        "generated_at": now,
        "airflow": context.config.settings.alerts.airflow or "",
        "sources": [_source(one) for one in sources],
        "monitors": [row for row, _ in found],
        "alerts": lists.alerts(context),
        "findings": lists.findings(context),
        "quarantine": lists.quarantine(context),
        "runs": lists.runs(context),
        "meanings": dict(_meanings()),
    }
    return PageContent(overview, {row["name"]: detail for row, detail in found if detail is not None})


def _source(found: SourceStanding) -> dict[str, Any]:
    return {
        "name": found.source.name, "epoch": format_duration(found.source.epoch), "landings": found.landings,
        "last_landed": None if found.last_landed is None else format_time(found.last_landed),
        "waiting": len(found.waiting), "quarantined": found.quarantined, "trouble": found.no_look,
        "owed": sum(one.rows for one in found.owed),
    }  # fmt: skip


def _monitor(
    context: Context, source: SourceStanding, found: MonitorStanding, most: int
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A row of the overview, and the monitor's own page; None where nothing is sealed yet."""
    monitor = found.monitor
    question = find_question(monitor.question)
    plain: dict[str, Any] = {
        "name": monitor.name, "title": monitor.title or monitor.name, "source": source.source.name,
        "question": monitor.question, "asks": question.asks, "method": monitor.method,
        "shadows": list(monitor.shadow), "shape": question.shape, "behind": found.behind, "overdue": found.overdue,
        "sealed": found.epochs, "revised": found.revised,
        "alerts": [
            {"severity": row["severity"], "subject": row["subject"], "site": row["site"]}
            for row in source.open_alerts if row["monitor"] in ("", monitor.name)
        ],
    }  # fmt: skip
    if found.last is None:
        return plain | {"now": None}, None
    try:
        return _sealed(context, source.source, found, plain, most)
    except FarwatchError as error:  # of one monitor: the others are shown
        return plain | {"now": None, "trouble": str(error)}, None


def _sealed(
    context: Context, source: Source, found: MonitorStanding, plain: dict[str, Any], most: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    assert found.last is not None
    monitor = found.monitor
    now = look(context, monitor.name)
    shown = Shown(context, source, monitor, chain_of(context.lake, source.name, monitor.name), most)
    cost = crossed(shown)
    short, whole = _now(now)
    row = plain | {
        "now": short,
        "age_seconds": max(0, int(time.time()) - (found.last.epoch_start + source.epoch) // 1_000_000),
        "traffic": {
            "bytes": cost["methods"][monitor.method][-_OVERVIEW_EPOCHS:],
            "shipping": cost["shipping"][-_OVERVIEW_EPOCHS:],
        },
    }
    return row, {
        "now": whole,
        "epochs": shown.epochs,
        "thinned": len(shown.chain) > len(shown.starts),
        "answer": answers_over_time(shown),
        "traffic": cost,
        "links": links(shown),
        "comparison": comparison(context, monitor.name),
        "coverage": coverage(shown),
        "verdicts": verdicts(shown),
        "valid": why_valid(context, now),
    }


def _now(found: ShownAnswer) -> tuple[dict[str, Any], dict[str, Any]]:
    """The newest answer as `farwatch query` gives it: for the overview its headline, for its own page all of it."""
    plain = answer_report.to_plain(found)
    del plain["history"]
    rows = [answer_report.plain_row(row, found) for row in rows_at_the_end(found.rows)]
    names = (
        "epoch_start", "epoch_end", "says", "promise", "meaning", "partial", "stale", "sites", "missing_sites", "owed",
        "audited", "bytes", "shipping_bytes", "config_changed",
    )  # fmt: skip
    short = {name: plain[name] for name in names} | {"answers": rows[:3], "rows": len(rows)}
    whole = plain | {"answers": rows[:MOST_ANSWERS], "rows": len(rows), "text": answer_report.lines(found)}
    return short, whole


def _meanings() -> Iterator[tuple[str, str]]:
    """What the columns of the tables mean, for the lists that repeat them."""
    for name in ("validations", "alerts", "quarantine", "epochs", "answers", "messages", "verdicts"):
        table = TABLES[name]
        for column in table.columns:
            yield f"{name}.{column}", table.describe(column)
