"""The page "Farwatch" inside Airflow's UI, and a small JSON API beside it: every route asks for Airflow's login.

What is shown is made by the `farwatch` command, in a process of its own: the API server imports none of its libraries.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import requires_access_view
from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse, JSONResponse

from farwatch_airflow.links import PREFIX
from farwatch_airflow.shown_page import BEING_MADE, ShownPage
from monitoring_lib.errors import ExitCode

LONGEST = 60
"""Seconds that a request to the API may take."""
LONGEST_PAGE = 240
STATUS_OF = {ExitCode.WRONG_USE: 404, ExitCode.RETRY: 503, ExitCode.NOT_NOW: 409}
"""The answer to a request whose command ended so; any other failure is ours."""

NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""How monitors are called. Nothing else of a request becomes part of a query, but numbers and times."""
MonitorPath = Annotated[str, PathParameter(description="name of a monitor", max_length=200)]
Limit = Annotated[int, Query(ge=1, le=10_000, description="rows of a page")]
Offset = Annotated[int, Query(ge=0, description="rows before it")]
Only = Annotated[str | None, Query(pattern=NAME, max_length=200, description="rows of this monitor only")]
Border = Annotated[datetime | None, Query(description="ISO 8601; without a zone UTC")]
TABLES = ("answers", "messages", "verdicts", "alerts")
_COLUMNS = {
    "answers": "monitor, method, epoch_start, node, tick, key, rank, estimate, low, high, confidence, partial,"
    " revision",
    "messages": "monitor, method, epoch_start, round, sender, receivers, kind, reason, entries, bytes",
    "verdicts": "monitor, method, epoch_start, node, tick, key, revision, promise, exact, error, allowed, kept",
    "alerts": "source, monitor, epoch_start, severity, subject, detail, raised_at",
}


def app() -> FastAPI:
    """Nothing is public: the description of the API has the same guard as the rest."""
    made = FastAPI(
        title="Farwatch",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(requires_access_view(AccessView.WEBSITE))],
    )

    shown = ShownPage(_report)

    @made.get("/", response_class=HTMLResponse)
    def page() -> HTMLResponse:
        found = shown.look()
        headers = {"Cache-Control": "no-store"}
        if found is None:
            return HTMLResponse(BEING_MADE, 202, headers)
        return HTMLResponse(found, headers=headers)

    @made.get("/api/status", summary="How far every monitor has come")
    def status() -> JSONResponse:
        return JSONResponse(json.loads(_farwatch("status", "--json")))

    @made.get("/api/monitors/{monitor}", summary="A monitor's newest answer, and the epochs before it")
    def answer(monitor: MonitorPath, history: Annotated[int, Query(ge=0, le=1_000)] = 0) -> JSONResponse:
        return JSONResponse(json.loads(_farwatch("query", "--json", f"--history={history}", "--", monitor)))

    for table in TABLES:
        _add_rows(made, table)

    @made.get("/api/openapi.json", summary="This description")
    def described() -> JSONResponse:
        return JSONResponse(made.openapi())

    return made


def _add_rows(made: FastAPI, table: str) -> None:
    @made.get(f"/api/{table}", summary=f"Sealed rows of the table {table}, the newest epochs first", name=table)
    def rows(
        limit: Limit = 1_000,
        offset: Offset = 0,
        monitor: Only = None,
        start: Annotated[Border, Query(alias="from")] = None,
        end: Annotated[Border, Query(alias="to")] = None,
    ) -> JSONResponse:
        # Sorted by every column, so that pages follow each other without a gap.
        where = [
            *([f"monitor = '{monitor}'"] if monitor else []),
            *(f"epoch_start {sign} TIMESTAMPTZ '{_utc(at)}'" for sign, at in ((">=", start), ("<", end)) if at),
        ]
        chosen = f" WHERE {' AND '.join(where)}" if where else ""
        others = ", ".join(str(at + 1) for at in range(_COLUMNS[table].count(",") + 1))
        order = f"ORDER BY epoch_start DESC, {others} LIMIT {limit} OFFSET {offset}"
        select = f"SELECT {_COLUMNS[table]} FROM {table}{chosen} {order}"
        return JSONResponse(json.loads(_farwatch("query", "--json", f"--limit={limit}", f"--sql={select}")))


def _report() -> str:
    with tempfile.TemporaryDirectory() as folder:
        _farwatch("report", "--out", f"{folder}/report.html", longest=LONGEST_PAGE)
        return Path(folder, "report.html").read_text("utf-8")


def _utc(moment: datetime) -> str:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _farwatch(*arguments: str, longest: float = LONGEST) -> str:
    """What the command prints; its own words about a failure become the answer's detail."""
    try:
        done = subprocess.run(
            ["farwatch", *arguments],
            capture_output=True,
            text=True,
            timeout=longest,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise HTTPException(503, f"farwatch {arguments[0]} took longer than {longest:.0f} s") from None
    if done.returncode:
        reason = done.stderr.strip().rpartition("farwatch: ")[2] or f"farwatch {arguments[0]} failed"
        raise HTTPException(STATUS_OF.get(done.returncode, 500), reason)
    return done.stdout


def view() -> dict[str, Any]:
    """How the page is reached from Airflow's navigation."""
    return {
        "name": "Farwatch",
        "href": f"{PREFIX}/",
        "destination": "nav",
        "category": "browse",
        "url_route": "farwatch",
    }
