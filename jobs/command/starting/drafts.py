"""The files that `farwatch init` writes: a source, and monitors that fit what was found."""

from __future__ import annotations

import json
from typing import Any

from jobs.command.starting.guesses import ALL_ROWS, Guess, Guesses
from jobs.command.starting.naming import expression_of
from jobs.command.starting.sample import Sample
from monitoring_lib.epochs import format_time


def source_text(name: str, path: str, sample: Sample, found: Guesses) -> str:
    """YAML; every text out of the file's own words is quoted as JSON, which YAML reads alike."""
    columns = ", ".join(
        f"{role}: {json.dumps(expression_for(one), ensure_ascii=False)}" for role, one in found.columns.items()
    )
    lines = [
        f"# Written by `farwatch init`; {sample.rows:,} rows of {sample.path.name} were looked at.",
        f"name: {name}",
        f"format: {sample.format}",
        f"path: {json.dumps(path, ensure_ascii=False)}",
        f"columns: {{{columns}}}",
    ]
    if found.wide is not None:
        lines.append(f"unpivot: {found.wide[0]}..{found.wide[1]}   # each of these columns is a reading")
    lines += [f"epoch: {found.epoch}   # {found.why_epoch}", f"origin: {format_time(found.origin)}"]
    if found.tick:
        lines.append(f"tick: {found.tick}   # from one reading to the next")
    if found.time is not None and found.time.format != "auto":
        lines.append(f"time_format: {json.dumps(found.time.format)}")
    if found.time is not None and not found.time.zoned:
        lines.append("time_zone: UTC   # the times name no zone; write yours, such as Europe/Berlin")
    if found.scale > 1:
        lines.append(f"scale: {found.scale}   # values are kept as whole numbers: value times this")
    layout = layout_of(sample)
    if layout:
        lines.append(f"csv: {json.dumps(layout, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def expression_for(one: Guess) -> str:
    return one.column if one.column == ALL_ROWS or one.parts else expression_of(one.column)


def layout_of(sample: Sample) -> dict[str, Any]:
    """What a source says under `csv`."""
    delimiter = {} if sample.delimiter == "," else {"delimiter": sample.delimiter}
    return delimiter | ({} if sample.named else {"header": list(sample.columns)})


def monitor_texts(name: str, found: Guesses) -> dict[str, str]:
    """Two or three questions that the columns allow, each explained; by the name of the monitor."""
    made: dict[str, str] = {}
    signed = "signed: true         # values below 0 occur\n" if found.is_signed else ""
    if "item" in found.columns:
        made[f"{name}-busiest"] = (
            "# The ten items that occur most, counted from the start; exact.\n"
            f"question: top-k\nsource: {name}\nmeasure: count\nk: 10\ntolerance: 0        # larger is cheaper\n"
        )
        made[f"{name}-different"] = (
            "# How many different items occurred, at however many sites, within 10 % (19 times out of 20).\n"
            f"question: distinct-count\nsource: {name}\nitem: item\nerror: 0.1\n"
        )
        if "value" in found.columns:
            made[f"{name}-largest"] = (
                "# The ten items with the largest sums of the value.\n"
                f"question: top-k\nsource: {name}\nmeasure: sum(value)\nk: 10\ntolerance: 0\n{signed}"
            )
    elif "value" in found.columns or found.wide is not None:
        precision = _rounded(found.spread / 50)
        made[f"{name}-mean"] = (
            "# The mean of the sites' last values, within `precision`, at the end of every epoch.\n"
            f"question: aggregates\nsource: {name}\nvalue: last(value)\n"
            f"queries:\n  - {{name: mean, ask: avg, precision: {precision}}}\n"
            f"  - {{name: highest, ask: max, precision: {precision}}}\n"
        )
    if found.sites > 1:
        made[f"{name}-busiest-sites"] = (
            "# The sites with most rows in the last epoch.\n"
            f"question: top-k\nsource: {name}\nitem: site\nmeasure: count\nk: 5\ntolerance: 0\nwindow: {found.epoch}\n"
        )
    elif not made:
        made[f"{name}-rows"] = (
            "# How many rows there were in the last epoch.\n"
            f"question: top-k\nsource: {name}\nitem: site\nmeasure: count\nk: 1\ntolerance: 0\nwindow: {found.epoch}\n"
        )
    return made


def _rounded(width: float) -> str:
    """One digit of a width, never 0."""
    return f"{float(f'{width:.0e}'):g}" if width > 0 else "1"
