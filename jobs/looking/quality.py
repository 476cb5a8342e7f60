"""`farwatch quality`: what the last checks of a source's data found, by site; or all of it as Data Docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.epoch.context import Context
from jobs.lake.seals import Seal
from jobs.looking import printing
from jobs.terminal.wording import counted, printable
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time, parse_time
from monitoring_lib.errors import NotNow, UsageError
from monitoring_lib.tables import VALIDATIONS

_LONGEST = 300
_MOST_EPOCHS = 100
"""Epochs that Data Docs are written for: the last ones."""


@dataclass(frozen=True)
class Checked:
    """The outcome of every check of one epoch: those of the gate, and those of the rows that were sealed."""

    epoch_start: int
    rows: Sequence[dict[str, Any]]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """What did not hold, of sites first."""
        bad = [row for row in self.rows if not row["success"] and (row["site"] or row["step"] != "gate")]
        return sorted(bad, key=lambda row: (not row["site"], row["site"], row["monitor"], row["expectation"]))

    @property
    def of_source(self) -> list[dict[str, Any]]:
        """For each expectation, how many sites failed it."""
        found = [row for row in self.rows if row["step"] == "gate" and not row["site"]]
        return sorted(found, key=lambda row: (row["monitor"], row["expectation"]))


def run(source: str, *, epoch: str | None, docs: Path | None, as_json: bool) -> None:
    """Prints the results of the epoch that holds the time `epoch` (default: the last sealed), or writes pages."""
    context = Context.from_environment()
    about = context.config.source(source)
    if docs is not None:
        from jobs.quality.docs import write_docs

        results = {one.epoch_start: one.rows for one in checked(context, about, _MOST_EPOCHS)}
        index = write_docs(docs, source, results)
        printing.line(f"{counted(len(results), 'epoch')} of {source}: {index}")
        return
    found = checked(context, about, 1, _moment(epoch))
    if not found:
        raise NotNow(f"{source}: no epoch that was checked is sealed yet; `farwatch status` says what waits")
    _show(about, found[0], as_json)


def _moment(epoch: str | None) -> int | None:
    try:
        return None if epoch is None else parse_time(epoch)
    except ValueError as error:
        raise UsageError(f"--epoch: {error}") from error


def checked(context: Context, source: Source, epochs: int, moment: int | None = None) -> list[Checked]:
    """The last sealed epochs, or the one that holds a time; the newest first."""
    start = None if moment is None else source.clock.start_of(source.clock.epoch_of(moment))
    seals: dict[int, list[Seal]] = {}
    for monitor in context.config.monitors_of(source.name):
        for seal in context.lake.ledger.seals(source.name, monitor.name, start, None if start is None else start + 1):
            seals.setdefault(seal.epoch_start, []).append(seal)
    found = []
    for at in sorted(seals, reverse=True)[:epochs]:
        own = [("source", "=", source.name)]
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for seal in seals[at]:
            for row in context.lake.sealed(VALIDATIONS, [seal], ["gate", "validations"], own).to_pylist():  # type: ignore[arg-type]
                if row["step"] == "gate" or row["monitor"] == seal.monitor:
                    rows[row["step"], row["monitor"], row["expectation"], row["site"]] = row
        found.append(Checked(at, list(rows.values())))
    return found


def _show(source: Source, one: Checked, as_json: bool) -> None:
    from rich.text import Text

    names = ("step", "monitor", "site", "expectation", "severity", "success", "observed", "detail")
    if as_json:
        printing.print_json(
            {
                "source": source.name, "epoch_start": format_time(one.epoch_start),
                "expectations": [{name: row[name] for name in names} for row in one.of_source],
                "failed": [{name: row[name] for name in names} for row in one.failed],
            }
        )  # fmt: skip
        return
    printing.show(Text.assemble((source.name, "bold"), f": checks of epoch {format_time(one.epoch_start)}"))
    if one.of_source:
        table = printing.table("expectation", "monitor", "result", "severity")
        for row in one.of_source:
            table.add_row(*map(Text, (row["expectation"], row["monitor"] or "all", row["observed"], row["severity"])))
        printing.show(table)
    for row in one.failed:
        whose = f"site '{printable(row['site'])}'" if row["site"] else row["monitor"] or source.name
        why = "; ".join(filter(None, [row["observed"], row["detail"]]))
        style = "red" if row["severity"] == "critical" else "yellow"
        printing.line(f"{whose}: {row['expectation']} does not hold: {printable(why, _LONGEST)}", style)
    if not one.failed:
        held = sum(1 for row in one.rows if row["success"])
        printing.line(f"{counted(held, 'check')}, none failed" if held else "nothing was checked", "green")
