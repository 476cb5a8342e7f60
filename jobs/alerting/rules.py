"""The monitors' own rules over their sealed answers, entered and left after so many epochs in a row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from jobs.alerting.troubles import Trouble
from jobs.lake import Lake, rows_by
from jobs.lake.seals import Seal
from jobs.terminal.wording import bounds, counted, number, printable
from monitoring_lib.config import Monitor, Rule
from monitoring_lib.expressions import parse_condition
from monitoring_lib.expressions.evaluation import Values, holds
from monitoring_lib.tables import DRAFTS

_MOST_ROWS = 3


def rule_troubles(
    lake: Lake, monitor: Monitor, seals: Sequence[Seal], first: int, open_before: Collection[str]
) -> dict[int, list[Trouble]]:
    """By epoch from `first` on, the rules that are open at its end; `seals` reach back as far as rules look.

    `open_before` says what the rules that were open before are about.
    """
    if not monitor.alert or not seals:
        return {}
    drafts = lake.sealed(DRAFTS, seals, ["drafts"], [("monitor", "=", monitor.name)])
    by_epoch = {start: rows for (start,), rows in rows_by(drafts, "epoch_start").items()}
    found: dict[int, list[Trouble]] = {seal.epoch_start: [] for seal in seals if seal.epoch_start >= first}
    for rule in monitor.alert:
        true = {seal.epoch_start: _matching(rule, by_epoch.get(seal.epoch_start)) for seal in seals}
        matched = {start: bool(rows.num_rows) for start, rows in true.items()}
        for start in open_in(rule.for_, matched, first, about(rule) in open_before):
            found[start].append(_trouble(monitor, rule, start, true[start]))
    return found


def look_back(monitor: Monitor) -> int:
    """Epochs before the first one that its rules must see, to count how many in a row there were."""
    return max((rule.for_ - 1 for rule in monitor.alert), default=0)


def open_in(lasting: int, matched: Mapping[int, bool], first: int, is_open: bool) -> list[int]:
    """The epochs from `first` on at whose end a rule is open: matched for so many in a row, until not for as many."""
    run = 0
    for start in sorted((start for start in matched if start < first), reverse=True):
        if matched[start] == is_open or run == lasting - 1:
            break
        run += 1
    opened: list[int] = []
    for start in sorted(start for start in matched if start >= first):
        run = run + 1 if matched[start] != is_open else 0
        if run >= lasting:
            is_open, run = not is_open, 0
        if is_open:
            opened.append(start)
    return opened


def about(rule: Rule) -> str:
    """What tells the rules of a monitor apart."""
    return rule.when if rule.key is None else f"{rule.when} of {printable(rule.key, 80)}"


def _matching(rule: Rule, rows: pa.Table | None) -> pa.Table:
    if rows is None:
        return DRAFTS.schema.empty_table()
    if rule.key is not None:
        rows = rows.filter(pc.equal(rows["key"], rule.key))
    rows = rows.combine_chunks()
    if not rows.num_rows:
        return rows
    kinds = {"key": "text", "partial": "truth"}
    columns = {
        name: Values(rows[name].combine_chunks(), kinds.get(name, "number"))  # type: ignore[arg-type]
        for name in ("estimate", "low", "high", "rank", "key", "partial")
    }
    return rows.filter(pc.fill_null(holds(parse_condition(rule.when), columns, rows.num_rows), False))


def _trouble(monitor: Monitor, rule: Rule, start: int, rows: pa.Table) -> Trouble:
    told = [
        f"{printable(row['key'], 80) or monitor.name}: {number(row['estimate'])} ({bounds(row['low'], row['high'])})"
        for row in rows.slice(0, _MOST_ROWS).to_pylist()
    ]
    more = f" and {rows.num_rows - _MOST_ROWS:,} more" if rows.num_rows > _MOST_ROWS else ""
    lasts = f" for {counted(rule.for_, 'epoch')}" if rule.for_ > 1 else ""
    detail = f"{', '.join(told)}{more}" if told else "it was true until the epoch before"
    return Trouble(
        "rule", start, rule.severity, f"{about(rule)}{lasts}", detail, monitor.name, about=about(rule)
    )  # fmt: skip
