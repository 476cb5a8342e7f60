"""An answer as a person reads it, and as a machine does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jobs.looking import printing
from jobs.looking.answer import Past, ShownAnswer
from jobs.looking.answer_tables import answer_tables, rows_at_the_end
from jobs.looking.sealed import SealedEpoch
from jobs.looking.traffic import LinkTraffic, Traffic
from jobs.terminal.wording import bounds, counted, listed, printable, size
from monitoring_lib.epochs import format_duration, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_MOST_ROWS = 50
_MOST_KEYS = 10


def show(looks: Sequence[ShownAnswer], as_json: bool, loads: Sequence[LinkTraffic | None]) -> None:
    """Answers of several monitors one after the other; as JSON a single one by itself, several as a list."""
    if as_json:
        found = [_plain_answer(*one) for one in zip(looks, loads, strict=True)]
        printing.print_json(found[0] if len(found) == 1 else found)
        return
    for number, (look, carried) in enumerate(zip(looks, loads, strict=True)):
        if number:
            printing.line("")
        printing.show(*_parts(look))
        if look.history:
            printing.show("", _history(look.history))
        if carried is not None:
            printing.show("", *_links(carried))


def _plain_answer(look: ShownAnswer, loads: LinkTraffic | None) -> dict[str, Any]:
    links = {} if loads is None else {"links": _plain_loads(loads)}
    return to_plain(look) | links | {"text": lines(look)}


def lines(look: ShownAnswer) -> list[str]:
    """What `farwatch query` prints, line by line."""
    return printing.lines_of(_parts(look))


def _parts(look: ShownAnswer) -> Iterator[RenderableType]:
    """The answer, what it promises, and what a reader must know about it."""
    from rich.text import Text

    yield from _head(look)
    yield from answer_tables(look)
    yield Text(promise_line(look), "green" if not look.epoch.seal.missing_sites else "yellow")
    yield Text(f"that is: {look.epoch.meaning}", "dim")
    if look.so_far is not None and len(look.epoch.chain) > 1:
        yield Text(_so_far(look.epoch, look.so_far), "dim")
    if look.audited is not None:
        yield Text(look.audited.text, "dim" if look.audited.kept == look.audited.epochs else "red")
    for warning in _warnings(look):
        yield Text(warning, "yellow")


def promise_line(look: ShownAnswer) -> str:
    """The promise, who took part, the epoch, and what crossed: one line wherever an answer is told."""
    seal = look.epoch.seal
    known, missing = look.sites, seal.missing_sites
    parts = [_promise(look), f"{known - len(missing):,} of {counted(known, 'site')}"]
    if missing:
        parts[-1] += f" (missing: {listed(missing)})"
    parts.append(f"epoch {format_time(seal.epoch_start)}")
    if seal.revision:
        parts.append(f"revision {seal.revision} ({printable(seal.reason, 200)})")
    return ", ".join([*parts, look.traffic.text])


def _promise(look: ShownAnswer) -> str:
    """With sites missing it holds as of what each has said last, and no more."""
    missing = bool(look.epoch.seal.missing_sites)
    then = f"{look.epoch.promise} as of each missing site's last report" if missing else look.epoch.promise
    if not look.is_partial:
        return then
    owed = sum(one.rows for one in look.set_aside if not one.rejected)
    rejected = sum(one.rows for one in look.set_aside if one.rejected)
    why = [
        *([f"{counted(owed, 'row')} {'is' if owed == 1 else 'are'} owed"] if owed else []),
        *([f"{counted(rejected, 'row')} {'was' if rejected == 1 else 'were'} rejected"] if rejected else []),
        *(["sites are missing"] if missing else []),
    ]
    reasons = " and ".join(why) or "it does not hold all of its window, for it began anew when the monitor was changed"
    return f"partial, as {reasons} (instead of {then})"


def _head(look: ShownAnswer) -> Iterator[RenderableType]:
    from rich.text import Text

    then, title = look.epoch.then, look.epoch.monitor.title
    window = "growing" if then.window is None else f"the last {format_duration(then.window)}"
    if then.reset is not None:
        window += f", anew every {format_duration(then.reset)}"
    about = f"{then.question} by {then.measure}, {window}, method {then.method}"
    name = f"{printable(title, 200)} ({then.name})" if title else then.name
    yield Text.assemble((name, "bold"), f": {about}")


def _so_far(epoch: SealedEpoch, sent: Traffic) -> str:
    return f"since {format_time(int(epoch.chain.starts[0]))}, in {len(epoch.chain):,} epochs: {sent.text}"


def _warnings(look: ShownAnswer) -> Iterator[str]:
    for one in look.set_aside[:_MOST_KEYS]:
        yield one.text
    if len(look.set_aside) > _MOST_KEYS:
        yield f"… and {len(look.set_aside) - _MOST_KEYS:,} more set aside; --json gives all"
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
    return [row["key"] for row in rows_at_the_end(past.rows) if row["rank"] is not None]


def _answer(past: Past) -> str:
    rows = rows_at_the_end(past.rows)
    if any(row["rank"] is not None for row in rows):
        return _names(_keys(past))
    shown = [f"{printable(row['key'], 16)} {bounds(row['low'], row['high'])}".strip() for row in rows[:_MOST_KEYS]]
    return ", ".join([*shown, *(["…"] if len(rows) > _MOST_KEYS else [])])


def _names(keys: Sequence[str]) -> str:
    shown = ", ".join(printable(key, 16) for key in keys[:_MOST_KEYS])
    return f"{shown}, …" if len(keys) > _MOST_KEYS else shown


def to_plain(look: ShownAnswer) -> dict[str, Any]:
    epoch, seal = look.epoch, look.epoch.seal
    return {
        "monitor": epoch.monitor.name, "title": epoch.monitor.title, "question": epoch.then.question,
        "method": epoch.then.method, "epoch_start": format_time(seal.epoch_start),
        "epoch_end": format_time(seal.epoch_start + epoch.source.epoch), "revision": seal.revision,
        "reason": seal.reason, "promise": epoch.promise, "meaning": epoch.meaning, "partial": look.is_partial,
        "says": _promise(look), "owed": [one.to_plain() for one in look.set_aside],
        "sites": look.sites, "missing_sites": list(seal.missing_sites),
        "answers": [plain_row(row, look) for row in look.rows],
        "bytes": look.traffic.bytes, "shipping_bytes": look.traffic.shipping,
        "so_far": None if look.so_far is None else {
            "epochs": len(epoch.chain), "bytes": look.so_far.bytes, "shipping_bytes": look.so_far.shipping
        },
        "stale": None if look.stale is None else {
            "from": format_time(look.stale.first), "why": look.stale.why, "command": look.stale.command
        },
        "config_changed": look.config_changed,
        "audited": None if look.audited is None else look.audited.to_plain(),
        "history": [
            {
                "epoch_start": format_time(past.seal.epoch_start), "revision": past.seal.revision,
                "reason": past.seal.reason, "missing_sites": list(past.seal.missing_sites),
                "answers": [plain_row(row) for row in past.rows], "bytes": past.traffic.bytes,
                "shipping_bytes": past.traffic.shipping,
            }
            for past in look.history
        ],
    }  # fmt: skip


def plain_row(row: dict[str, Any], look: ShownAnswer | None = None) -> dict[str, Any]:
    names = ("rank", "key", "estimate", "low", "high", "confidence", "partial", "node", "tick")
    found = {name: row[name] for name in names}
    if look is not None and look.since is not None:
        stay = look.since.get((row["node"], row["key"]))
        found["since"] = None if stay is None or row["rank"] is None else format_time(stay)
    return found


def _links(loads: LinkTraffic) -> Iterator[RenderableType]:
    """The heaviest links first, then what all of them carried."""
    from rich.text import Text

    found = printing.table("link", "entries", "bytes", right=("entries", "bytes"))
    heaviest = sorted(loads.entries, key=lambda link: (-loads.entries[link], link))
    for link in heaviest[:_MOST_ROWS]:
        name = " – ".join(map(printable, link))
        found.add_row(*map(Text, (name, f"{loads.entries[link]:,}", size(loads.bytes[link]))))
    yield found
    if not loads.entries:
        yield "no link carried anything in this epoch"
        return
    if len(heaviest) > _MOST_ROWS:
        yield f"… and {len(heaviest) - _MOST_ROWS:,} more; --json gives all"
    link, most = loads.heaviest
    yield (
        f"root load {loads.root:,} entries, heaviest link {most:,} ({' – '.join(map(printable, link))}),"
        f" all links {loads.total:,}"
    )


def _plain_loads(loads: LinkTraffic) -> dict[str, Any]:
    return {
        "root": loads.root, "heaviest": max(loads.entries.values(), default=0), "total": loads.total,
        "links": [
            {"ends": list(link), "entries": loads.entries[link], "bytes": loads.bytes[link]}
            for link in sorted(loads.entries)
        ],
    }  # fmt: skip
