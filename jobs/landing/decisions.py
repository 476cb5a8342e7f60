"""What becomes of each new file: decided from what is known and what the tasks report, and from nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jobs.input.plain import PlainTable
from jobs.landing.filing import TOO_LATE
from jobs.landing.known import How, Known
from monitoring_lib.config import Source

Mode = Literal["refuse", "replace", "append"]


@dataclass(frozen=True, slots=True)
class Report:
    """What a task found in a file. `fault` says why it cannot land as a whole.

    `epochs` counts rows that can land by epoch start, `faults` others by kind. `begins` is the digest of the landed
    content that it begins with, where growing was asked about; `waiting` are the bytes of an unfinished last record.
    A `plain` table was not read yet: Spark's own reader is to do it.
    """

    path: str
    digest: str = ""
    unpacked: int = 0
    records: int = 0
    begins: str = ""
    waiting: int = 0
    epochs: Mapping[int, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""
    plain: PlainTable | None = None

    @property
    def hopeless(self) -> bool:
        """Whether no row of it can be read as an event, though it has some. Rows that are only too late can be."""
        return bool(self.faults) and not self.epochs and not any(kind.startswith(TOO_LATE) for kind in self.faults)


@dataclass(frozen=True, slots=True)
class FileDecision:
    """`how` a file lands, None where it is refused with `reason`; `of` is the path with the same or earlier content."""

    how: How | None
    reason: str = ""
    of: str = ""

    @property
    def brings_rows(self) -> bool:
        return self.how in (How.NEW, How.GROWN, How.AGAIN) or (self.how == How.REPLACED and not self.of)


def decide_files(
    source: Source, known: Known, reports: Sequence[Report], there: Collection[str], mode: Mode
) -> dict[str, FileDecision]:  # fmt: skip
    """By path. `there` are the paths that are on storage now, those of the reports included.

    A path that holds other content than it brought is changed, unless it brought no record yet, or what it brought is
    on storage under another path: then the file was moved (logs that are rotated), and what stands there is new.
    """
    reported = {report.path: report for report in reports if not report.fault}
    holds = {path: _held(known, path, reported) for path in there}
    decided: dict[str, FileDecision] = {}
    taken: dict[str, str] = {}
    for report in sorted(reports, key=lambda one: one.path):
        goes_on = bool(report.begins) and mode == "append"
        if report.fault or (report.hopeless and not goes_on):
            decided[report.path] = FileDecision(None, report.fault or _no_row(source, report))
            continue
        holder = known.holder(report.digest) or taken.get(report.digest, "")
        before = known.chains.get(report.path, ())
        moved = any(before[-1:] and before[-1] in held for path, held in holds.items() if path != report.path)
        changed = known.has_records(before) and report.digest not in before and not moved
        repeats = bool(report.begins) and not holder  # it brings rows that have landed, with others behind them
        if repeats and goes_on:
            decided[report.path] = FileDecision(How.GROWN, of=known.holder(report.begins))
        elif (changed or repeats) and mode != "replace":
            decided[report.path] = FileDecision(None, _changed(source, known, report, mode))
            continue
        elif changed or repeats:
            decided[report.path] = FileDecision(How.REPLACED, of=holder)
        else:
            decided[report.path] = FileDecision(How.SAME if holder else How.NEW, of=holder)
        taken.setdefault(report.digest, report.path)
    return decided


def _held(known: Known, path: str, reported: Mapping[str, Report]) -> set[str]:
    """The digests of all content that a path on storage holds now."""
    report = reported.get(path)
    if report is None:
        return set(known.chains.get(path, ()))
    begun = known.contents[report.begins].chain if report.begins else ()
    same = known.contents[report.digest].chain if report.digest in known.contents else ()
    return {report.digest, *begun, *same}


def _no_row(source: Source, report: Report) -> str:
    """Values of the file do not go into the reason: it is alerted about."""
    kind = max(report.faults, key=lambda kind: report.faults[kind])
    return (
        f"none of its rows ({sum(report.faults.values())}) could become an event; most often: {kind}."
        f" Correct the file, or the configuration of the source; `farwatch land --source {source.name} --again` reads"
        " it anew"
    )


def _changed(source: Source, known: Known, report: Report, mode: Mode) -> str:
    """Why a file is refused that holds what its path did not bring, or repeats what another one brought."""
    chain = known.contents[report.begins].chain if report.begins else known.chains[report.path]
    rows = sum(sum(one.epochs.values()) for digest in chain for one in known.brought.get(digest, ()))
    command = f"`farwatch land --source {source.name} --changed"
    if report.begins:
        of = known.holder(report.begins)
        whose = "what has landed of it" if of == report.path else f"what has landed as {of}"
        return (
            f"begins with {whose} ({rows} rows) and goes on. {command} append` lands only what follows;"
            " `changed_files: append` in the source says so for good"
        )
    what = "does not go on where what has landed of it ends" if mode == "append" else "has other content than landed"
    return (
        f"{what} ({rows} rows). If it was completed or corrected, {command} replace` lands it in place"
        " of those rows; `changed_files: replace` in the source says so for good. If it is another file, give it a name"
        " of its own; if it was rotated, let `path` match the rotated file too"
    )
