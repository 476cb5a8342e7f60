"""What a landing leaves behind: its rows in `landings`, the counts of its seal, and findings for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from jobs.input.files import FoundFile
from jobs.lake import Lake
from jobs.landing.bringing import Brought
from jobs.landing.decisions import FileDecision, Report
from jobs.landing.findings import landing_findings
from jobs.landing.known import How, LandedFile
from jobs.landing.writing import LandedRows
from jobs.quality.findings import Finding, to_rows
from jobs.terminal.console import say
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import VALIDATIONS

_CANNOT = "file can be read"
_FITS = "path fits files"


def landings_brought(files: Sequence[FoundFile], brought: Brought) -> list[LandedFile]:
    """A landing for each file that is not refused; one that was read again and brought nothing is none."""
    found = []
    for file in files:
        decision, report = brought.decided[file.path], brought.reports[file.path]
        if decision.how is not None:
            one = _landing(file, decision, report, brought)
            if one.how != How.AGAIN or one.epochs:
                found.append(one)
    return found


def _landing(file: FoundFile, decision: FileDecision, report: Report, brought: Brought) -> LandedFile:
    assert decision.how is not None
    tally = brought.tally if decision.brings_rows else LandedRows()
    rows = tally.landed.get(report.digest, Counter())
    aside = tally.quarantined.get(report.digest, Counter()).total()
    begins = report.begins if decision.how in (How.GROWN, How.REPLACED) else ""
    return LandedFile(
        file.path, report.digest, decision.how, brought.write, begins, file.size, file.modified, report.unpacked,
        report.records, aside, dict(rows),
    )  # fmt: skip


def landing_rows(
    source: Source, landings: Sequence[LandedFile], decided: Mapping[str, FileDecision], late: Collection[int]
) -> list[dict[str, Any]]:  # fmt: skip
    """As the table `landings` holds them."""
    now = datetime.now(UTC)
    return [
        {
            "source": source.name, "path": one.path, "digest": one.digest, "bytes": one.size,
            "modified": to_datetime(one.modified), "how": one.how.value, "begins": one.begins,
            "unpacked": one.unpacked, "records": one.records, "read": sum(one.epochs.values()) + one.quarantined,
            "landed": sum(one.epochs.values()), "quarantined": one.quarantined,
            "late": sum(rows for start, rows in one.epochs.items() if start in late),
            "epochs": sorted((str(start), rows) for start, rows in one.epochs.items()),
            "note": _note(one, decided[one.path]), "landed_at": now, "write": one.write,
        }
        for one in landings
    ]  # fmt: skip


def _note(one: LandedFile, decision: FileDecision) -> str:
    rows = sum(one.epochs.values()) + one.quarantined
    if one.how == How.REPLACED:
        content = f", with the content of {decision.of}" if decision.of else ""
        return f"in the place of what it brought before{content}"
    if one.how == How.GROWN:
        return f"what follows {decision.of}"
    if one.how == How.AGAIN:
        return "rows that were in quarantine, read again"
    return f"same content as {decision.of}" if one.how == How.SAME else "" if rows else "no rows"


def counts_of(landings: Sequence[LandedFile], gone: Sequence[LandedFile]) -> dict[int, dict[str, int]]:
    """By epoch start, what the landing brings, and how many rows no longer count because of it."""
    counts: dict[int, dict[str, int]] = {}
    for name, found in (("landed", landings), ("replaced", gone)):
        for one in found:
            for start, rows in one.epochs.items():
                epoch = counts.setdefault(start, {"landed": 0})
                epoch[name] = epoch.get(name, 0) + rows
    return counts


def replaced_by_epoch(gone: Sequence[LandedFile]) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for one in gone:
        for start in one.epochs:
            found.setdefault(start, []).append((one.digest, one.write))
    return found


def refusals_before(lake: Lake, source: Source) -> dict[str, str]:
    """By path, why a file was last left outside."""
    rows = landing_findings(lake, source)
    return {row["observed"]: row["detail"] for row in rows if row["expectation"] == _CANNOT}


def record_refusals(lake: Lake, source: Source, refused: Mapping[str, str], write: str) -> None:
    """A finding for each file that stays outside, so that the alert names it."""
    found = [
        Finding(source.origin, _CANNOT, False, observed=path, detail=reason) for path, reason in sorted(refused.items())
    ]
    lake.append(VALIDATIONS, to_rows(found, source.name, "land", write))


def record_no_files(lake: Lake, source: Source, write: str) -> None:
    """A warning where neither a file nor anything that has landed fits the source's path; once."""
    observed = f"no file matches the path {source.path!r}"
    detail = "nothing has landed: epochs are sealed empty; correct `path`, `farwatch check-config` shows what it fits"
    known = [row["observed"] for row in landing_findings(lake, source) if row["expectation"] == _FITS]
    say(f"{source.name}: {observed}, and {detail}", style="yellow")
    if observed not in known:
        found = Finding(source.origin, _FITS, False, "warning", observed=observed, detail=detail)
        lake.append(VALIDATIONS, to_rows([found], source.name, "land", write))


def expect_few_set_aside(lake: Lake, source: Source, tally: LandedRows, number: int, write: str) -> None:
    """A finding where a larger share of a landing's rows went to quarantine than `quality.quarantined` allows."""
    rows, aside = tally.epochs.total(), tally.kinds.total()
    if aside <= source.quality.quarantined * (rows + aside):
        return
    most = ", ".join(f"{kind} ({count})" for kind, count in tally.kinds.most_common(3))
    detail = (
        f"quality.quarantined allows a share of {source.quality.quarantined:g}; most often: {most};"
        f" `farwatch land --source {source.name} --again` reads them anew once the cause is gone"
    )
    observed = f"{aside} of the {rows + aside} rows of landing {number} went to quarantine"
    say(f"{source.name}: {observed}; {detail}", style="red")
    found = Finding(source.origin, "quarantined", False, observed=observed, detail=detail)
    lake.append(VALIDATIONS, to_rows([found], source.name, "land", write))
