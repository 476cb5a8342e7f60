"""Where a monitor's run begins: the seal before it, what that one left behind, and what is sealed already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.epoch.asked_then import monitor_then, source_then
from jobs.epoch.checked import check_sealed
from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor
from jobs.epoch.replaying import REVISED, end_of_chain, replay_command
from jobs.lake import Lake
from jobs.lake.seals import Seal
from monitoring_lib.config import Monitor, Source, meaning_of
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import EpochGapError, UsageError
from monitoring_lib.protocols import find_method, find_question
from monitoring_lib.tables import CURSORS


class NotFilledInError(EpochGapError):
    """A monitor that was added later: it has no sealed epoch yet."""


@dataclass(frozen=True)
class Beginning:
    """A monitor before the epochs of ``[start, end)``; `standing` are the seals that stand there already."""

    source: Source
    monitor: Monitor
    start: int
    end: int
    before: Seal | None
    cursor: Cursor
    standing: Sequence[Seal]
    checked: int = 0
    """The ledger's commit up to which the chain before was found to hang together."""

    @property
    def parent(self) -> str:
        return self.before.digest if self.before else ""

    @property
    def ground(self) -> str:
        return ground_of(self.parent, self.standing)


def ground_of(parent: str, standing: Sequence[Seal]) -> str:
    """A digest of what a run goes out from: the epoch before it, and what is sealed where it will seal."""
    content = [parent, [[seal.epoch_start, seal.write] for seal in standing]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def begin(context: Context, source: Source, monitor: Monitor, start: int, end: int) -> Beginning:
    """Where the run goes on from; EpochGapError if an epoch before it is not sealed, or stale."""
    ledger = context.lake.ledger
    checked = ledger.version
    before = ledger.seals(source.name, monitor.name, start - source.epoch, start)
    seal = before[0] if before else None
    if seal is not None:
        _refuse_stale(context, source, seal, start)
    elif start > may_begin(context, source, monitor, start) or ledger.links(
        source.name, monitor.name, source.origin, start
    ):
        raise _gap(context, source, monitor, start, end)
    number = source.clock.epoch_of(start)
    cursor = cursor_of(context.lake, seal) if seal else Cursor(number - 1, first=number)
    return Beginning(
        source, monitor, start, end, seal, cursor, ledger.seals(source.name, monitor.name, start, end), checked
    )  # fmt: skip


def may_begin(context: Context, source: Source, monitor: Monitor, start: int) -> int:
    """The last epoch at which a chain may begin, for a run from `start`: no event that counts has landed before it."""
    if wished(source, monitor) != "first":
        return earliest(source, monitor)
    landed = context.lake.ledger.first_landed(source.name)
    return start if landed is None else landed


def wished(source: Source, monitor: Monitor) -> str | int:
    """Where the configuration says that a monitor begins."""
    return source.begin if monitor.begin is None else monitor.begin


def earliest(source: Source, monitor: Monitor) -> int:
    """Where a monitor's first epoch starts at the earliest: events before that do not count for it."""
    begin = wished(source, monitor)
    if not isinstance(begin, int):
        return source.origin
    return max(source.origin, source.clock.start_of(source.clock.epoch_of(begin)))


def cursor_of(lake: Lake, seal: Seal) -> Cursor:
    """What a sealed epoch has left to the next."""
    rows = lake.sealed(CURSORS, [seal], ["cursors"], [("monitor", "=", seal.monitor)])
    check_sealed(lake, CURSORS, ["cursors"], [seal], rows)
    return Cursor.from_json(rows["content"][0].as_py())


def first_unsealed(context: Context, source: Source, monitor: Monitor, start: int, end: int) -> int | None:
    """The first epoch of the interval that counts and that the monitor has not sealed, None if there is none."""
    sealed = {seal.epoch_start for seal in context.lake.ledger.seals(source.name, monitor.name, start, end)}
    first = max(start, earliest(source, monitor))
    return next((at for at in range(first, end, source.epoch) if at not in sealed), None)


def _gap(context: Context, source: Source, monitor: Monitor, start: int, end: int) -> EpochGapError:
    """The epoch before is not sealed: which is the first that is not?"""
    sealed = {link.epoch_start for link in context.lake.ledger.links(source.name, monitor.name, source.origin, start)}
    if not sealed:
        span = f"--from {format_time(may_begin(context, source, monitor, start))} --to {format_time(end)}"
        return NotFilledInError(
            f"{monitor.name}: no epoch is sealed yet, so {format_time(start)} cannot be run;"
            f" `farwatch run --source {source.name} {span} --monitors {monitor.name}` fills it in"
        )
    missing = format_time(next(at for at in range(min(sealed), start, source.epoch) if at not in sealed))
    return EpochGapError(
        f"{monitor.name}: epoch {missing} is not sealed, so {format_time(start)} cannot be run; first"
        f" run `farwatch run --source {source.name} --from {missing} --to {format_time(start)}`"
    )


def _refuse_stale(context: Context, source: Source, before: Seal, start: int) -> None:
    """Every epoch must go on from the one before as it is now. Looks only at what was sealed since this was checked.

    When the seal before was planned, the chain hung together up to the ledger's commit `checked`. A later tear begins
    at a seal that came after that commit. So no more is read because the chain is long.
    """
    ledger = context.lake.ledger
    first = ledger.changed_since(source.name, before.monitor, before.checked, start)
    if first is None:
        return
    links = ledger.links(source.name, before.monitor, first - source.epoch, start)
    parent = "" if links[0].epoch_start == first else links.pop(0).digest
    for link in links:
        if link.parent != parent:
            end = end_of_chain(ledger, source.name, before.monitor, link.epoch_start, source.epoch)
            command = replay_command(source.name, before.monitor, link.epoch_start, end, REVISED)
            raise EpochGapError(
                f"{before.monitor}: epoch {format_time(link.epoch_start)} goes on from a state that has been revised"
                f" since, so {format_time(start)} cannot be run; first run `{command}`"
            )
        parent = link.digest


def begun_anew(source: Source, monitor: Monitor, before: Seal | None) -> tuple[str, ...]:
    """The methods that the seal before has no usable states of. An error if even its synopses are different ones."""
    if before is None or before.config == meaning_of(monitor, source):
        return ()
    then, about = monitor_then(before), source_then(before)
    question = find_question(monitor.question)
    if then.question != monitor.question or about.epoch != source.epoch or about.origin != source.origin:
        raise UsageError(_other_question(monitor, "its question, or the epochs of its source, have changed"))
    exact = [question.exact(one.ask(where)) for one, where in ((then, about), (monitor, source))]
    scales = [where.scales.get(one.measured.column) for one, where in ((then, about), (monitor, source))]
    if then.intake(exact[0], about).name != monitor.intake(exact[1], source).name or scales[0] != scales[1]:
        raise UsageError(_other_question(monitor, "what it counts (item, measure, where or scale) has changed"))
    return tuple(
        name
        for name in monitor.methods
        if name not in then.methods
        or not find_method(monitor.question, name)(monitor.ask(source, name)).continues(then.ask(about, name))
    )


def begun_bare(beginning: Beginning, anew: Iterable[str]) -> tuple[str, ...]:
    """Those of the methods that begin anew which take in synopses that the epochs before have none of."""
    source, monitor, before = beginning.source, beginning.monitor, beginning.before
    if before is None or not anew:
        return ()
    then, about = monitor_then(before), source_then(before)
    made = {
        then.intake(find_method(then.question, name)(then.ask(about, name)).summary(), about).name
        for name in then.methods
        if name not in beginning.cursor.bare
    }
    return tuple(
        name
        for name in anew
        if monitor.intake(find_method(monitor.question, name)(monitor.ask(source, name)).summary(), source).name
        not in made
    )


def _other_question(monitor: Monitor, difference: str) -> str:
    return (
        f"{monitor.name}: {difference} since its epochs were sealed, so its chain cannot go on;"
        " give the changed monitor a new name, or take the change back"
    )
