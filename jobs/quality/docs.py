"""Data Docs: the stored outcome of checks as Great Expectations' own pages, static files that any browser shows."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.quality.validation import silence
from monitoring_lib.epochs import format_time

_MOST_SITES = 50


def write_docs(folder: Path, source: str, results: Mapping[int, Sequence[Mapping[str, Any]]]) -> Path:
    """A page for each epoch, by its start, and an index; gives back the path of the index."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for start, rows in sorted(results.items(), reverse=True):
        name = f"{source}-{format_time(start).replace(':', '')}.html"
        (folder / name).write_text(_page(source, start, rows), encoding="utf-8")
        failed = sum(1 for row in rows if not row["success"] and not row["site"])
        told = f"{failed} of {sum(1 for row in rows if not row['site'])} expectations failed"
        lines.append(f'<li><a href="{name}">{format_time(start)}</a>: {told}</li>')
    title = f"Farwatch: checks of {html.escape(source)}"
    page = f'<!doctype html><meta charset="utf-8"><title>{title}</title><h1>{title}</h1><ul>{"".join(lines)}</ul>'
    index = folder / f"{source}.html"
    index.write_text(page, encoding="utf-8")
    return index


def _page(source: str, start: int, rows: Sequence[Mapping[str, Any]]) -> str:
    import great_expectations as gx
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.render.renderer import ValidationResultsPageRenderer
    from great_expectations.render.view import DefaultJinjaPageView

    of_sites: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["site"] and not row["success"]:
            of_sites.setdefault((row["step"], row["monitor"], row["expectation"]), []).append(row)
    whole = [row for row in rows if not row["site"]]
    results = [_result(row, of_sites.get((row["step"], row["monitor"], row["expectation"]), ())) for row in whole]
    good = sum(1 for row in whole if row["success"])
    suite = ExpectationSuiteValidationResult(
        success=good == len(whole), results=results, suite_name=source, suite_parameters={},
        statistics={
            "evaluated_expectations": len(whole), "successful_expectations": good,
            "unsuccessful_expectations": len(whole) - good, "success_percent": 100 * good / max(1, len(whole)),
        },
        meta={
            "run_id": {"run_name": format_time(start), "run_time": format_time(start)},
            "great_expectations_version": gx.__version__, "active_batch_definition": {}, "batch_spec": {},
        },
    )  # fmt: skip
    with silence():
        return str(DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(suite)))


def _result(row: Mapping[str, Any], sites: Iterable[Mapping[str, Any]]) -> Any:
    """One expectation, with what it found at each site that failed it."""
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    failed = [f"{each['site']}: {each['detail'] or each['observed']}" for each in sites]
    whose = f"{row['monitor']}: " if row["monitor"] else ""
    config = ExpectationConfiguration(
        type="expect_column_values_to_not_be_null", kwargs={"column": f"{whose}{row['expectation']}"},
        meta={"name": row["expectation"], "severity": row["severity"]},
    )  # fmt: skip
    return ExpectationValidationResult(
        success=row["success"], expectation_config=config,
        result={
            "observed_value": row["observed"], "unexpected_count": len(failed),
            "partial_unexpected_list": failed[:_MOST_SITES],
        },
        exception_info={"raised_exception": False, "exception_message": None, "exception_traceback": None},
    )  # fmt: skip
