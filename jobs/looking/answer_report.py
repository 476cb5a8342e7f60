"""An answer as a person reads it, and as a machine does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jobs.looking import printing
from jobs.looking.answer import Look, Past
from jobs.wording import bounds, counted, listed, number, printable, size
from monitoring_lib.epochs import format_duration, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_MOST_ROWS = 50
_MOST_KEYS = 10


def show(look: Look, as_json: bool) -> None:
    if as_json:
        printing.print_json(to_plain(look))
        return
    printing.show(*_head(look), _table(look), *_more(look))
    printing.line(promise_line(look), "green" if not look.epoch.seal.missing_sites else "yellow")
    if len(look.epoch.marks) > 1:
        printing.line(_so_far(look), "dim")
    for warning in _warnings(look):
        printing.line(warning, "yellow")
    if look.history:
        printing.show("", _history(look.history))


def promise_line(look: Look) -> str:
    """The promise, who took part, the epoch, and what crossed: one line wherever an answer is told."""
    epoch, seal = look.epoch, look.epoch.seal
    known, missing = len(epoch.marks.sites), seal.missing_sites
    parts = [_promise(look), f"{known - len(missing):,} of {counted(known, 'site')}"]
    if missing:
        parts[-1] += f" (missing: {listed(missing)})"
    parts.append(f"epoch {format_time(seal.epoch_start)}")
    if seal.revision:
        parts.append(f"revision {seal.revision} ({printable(seal.reason, 200)})")
    return ", ".join([*parts, look.traffic.text])


def _promise(look: Look) -> str:
    if not look.is_partial:
        return look.epoch.promise
    excess = max(row["high"] for row in look.rows if row["rank"] is None)
    return f"partial, valid within {number(excess)} as sites are missing (instead of {look.epoch.promise})"


def _head(look: Look) -> Iterator[RenderableType]:
    from rich.text import Text

    then, title = look.epoch.then, look.epoch.monitor.title
    window = "growing" if then.window is None else f"the last {format_duration(then.window)}"
    if then.reset is not None:
        window += f", anew every {format_duration(then.reset)}"
    about = f"{then.question} by {then.measure}, {window}, method {then.method}"
    name = f"{printable(title, 200)} ({then.name})" if title else then.name
    yield Text.assemble((name, "bold"), f": {about}")


def _last_tick(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that hold at the end; answers per tick have earlier ones beside them."""
    latest = max((row["tick"] for row in rows), default=None)
    return [row for row in rows if row["tick"] == latest]


def _table(look: Look) -> RenderableType:
    from rich.text import Text

    rows = [row for row in _last_tick(look.rows) if not look.is_partial or row["rank"] is not None]
    if not rows:
        return Text("the answer of this epoch has no rows")
    ranked = any(row["rank"] is not None for row in rows)
    nodes = len({row["node"] for row in rows}) > 1
    titles = [*(["node"] if nodes else []), *(["rank"] if ranked else []), "item", "low..high"]
    found = printing.table(*titles, *(["since"] if ranked else []), right=("rank", "low..high"))
    for row in rows[:_MOST_ROWS]:
        cells = [printable(row["node"])] if nodes else []
        cells += [str(row["rank"] or "")] if ranked else []
        cells += [printable(row["key"]), bounds(row["low"], row["high"])]
        if ranked:
            stay = look.since.get((row["node"], row["key"]))
            cells.append("" if stay is None else format_time(stay))
        found.add_row(*map(Text, cells))
    return found


def _more(look: Look) -> Iterator[str]:
    shown = _last_tick(look.rows)
    if len(shown) > _MOST_ROWS:
        yield f"… and {len(shown) - _MOST_ROWS:,} more; --json gives all"
    if len(shown) < len(look.rows):
        yield f"at the epoch's end; {counted(len(look.rows) - len(shown), 'row')} of earlier ticks: --json gives all"


def _so_far(look: Look) -> str:
    marks = look.epoch.marks
    return f"since {format_time(int(marks.starts[0]))}, in {len(marks):,} epochs: {look.so_far.text}"


def _warnings(look: Look) -> Iterator[str]:
    if look.stale is not None:
        yield look.stale.text
    if look.config_changed:
        yield f"the configuration of {look.epoch.monitor.name} has changed since this epoch was sealed"


def _history(history: Sequence[Past]) -> Table:
    from rich.text import Text

    found = printing.table("epoch", "answer", "entered", "left", "missing", "crossed", "shipping", "revision",
                           right=("missing", "crossed", "shipping", "revision"))  # fmt: skip
    for at, past in enumerate(history):
        keys = _keys(past)
        before = _keys(history[at + 1]) if at + 1 < len(history) else keys
        cells = [
            format_time(past.seal.epoch_start), _answer(past),
            _names([key for key in keys if key not in before]), _names([key for key in before if key not in keys]),
            f"{len(past.seal.missing_sites):,}", size(past.traffic.bytes), size(past.traffic.shipping),
            str(past.seal.revision),
        ]  # fmt: skip
        found.add_row(*map(Text, cells))
    return found


def _keys(past: Past) -> list[str]:
    return [row["key"] for row in _last_tick(past.rows) if row["rank"] is not None]


def _answer(past: Past) -> str:
    rows = _last_tick(past.rows)
    if any(row["rank"] is not None for row in rows):
        return _names(_keys(past))
    shown = [f"{printable(row['key'], 16)} {bounds(row['low'], row['high'])}".strip() for row in rows[:_MOST_KEYS]]
    return ", ".join([*shown, *(["…"] if len(rows) > _MOST_KEYS else [])])


def _names(keys: Sequence[str]) -> str:
    shown = ", ".join(printable(key, 16) for key in keys[:_MOST_KEYS])
    return f"{shown}, …" if len(keys) > _MOST_KEYS else shown


def to_plain(look: Look) -> dict[str, Any]:
    epoch, seal = look.epoch, look.epoch.seal
    return {
        "monitor": epoch.monitor.name, "title": epoch.monitor.title, "question": epoch.then.question,
        "method": epoch.then.method, "epoch_start": format_time(seal.epoch_start),
        "epoch_end": format_time(seal.epoch_start + epoch.source.epoch), "revision": seal.revision,
        "reason": seal.reason, "promise": epoch.promise, "partial": look.is_partial,
        "sites": len(epoch.marks.sites), "missing_sites": list(seal.missing_sites),
        "answers": [_plain_row(row, look) for row in look.rows],
        "bytes": look.traffic.bytes, "shipping_bytes": look.traffic.shipping,
        "so_far": {
            "epochs": len(epoch.marks), "bytes": look.so_far.bytes, "shipping_bytes": look.so_far.shipping
        },
        "stale": None if look.stale is None else {
            "from": format_time(look.stale.first), "why": look.stale.why, "command": look.stale.command
        },
        "config_changed": look.config_changed,
        "history": [
            {
                "epoch_start": format_time(past.seal.epoch_start), "revision": past.seal.revision,
                "reason": past.seal.reason, "missing_sites": list(past.seal.missing_sites),
                "answers": [_plain_row(row) for row in past.rows], "bytes": past.traffic.bytes,
                "shipping_bytes": past.traffic.shipping,
            }
            for past in look.history
        ],
    }  # fmt: skip


def _plain_row(row: dict[str, Any], look: Look | None = None) -> dict[str, Any]:
    names = ("rank", "key", "estimate", "low", "high", "confidence", "node", "tick")
    found = {name: row[name] for name in names}
    if look is not None:
        stay = look.since.get((row["node"], row["key"]))
        found["since"] = None if stay is None or row["rank"] is None else format_time(stay)
    return found
