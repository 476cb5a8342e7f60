"""Makes a monitor's plan: who joins and is missing in each epoch, and which sealed epochs must be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from jobs.epoch.arrivals import Arrivals, Texts
from jobs.epoch.chain import Beginning, begun_anew, begun_bare
from jobs.epoch.cursor import Member, StoredState
from jobs.epoch.memory import oldest_base
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.plan import PastEpoch, Plan, PlannedEpoch
from jobs.epoch.retiring import Leaving, Roll
from jobs.lake import Lake
from jobs.lake.seals import Seal
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import DamagedTable
from monitoring_lib.methods import Method

_READ = ("synopses", "site_states", "states", "inbox", "messages")
"""The outputs of sealed epochs that a run reads."""
OWED = "owed"
"""The count by which a seal says how many rows of its window were set aside."""
DECIDED = "decided"
"""The count by which a seal says of how many sites somebody had decided about rows that were set aside."""


def placements_of(monitor: Monitor, source: Source) -> dict[str, tuple[str, ...]]:
    """By method, the expressions by which its sites are placed, where it has any."""
    chosen, shadows = monitor.method_objects(source)
    return {method.name: method.placement() for method in (chosen, *shadows) if method.placement()}


def make_plan(
    lake: Lake, beginning: Beginning, arrivals: Arrivals, missing: Mapping[int, Collection[str]],
    rejected: Mapping[int, Collection[str]], leaving: Leaving,
) -> Plan:  # fmt: skip
    """`missing` holds the sites that were set aside, by epoch number; those `rejected` are so for good."""
    source, monitor, clock = beginning.source, beginning.monitor, beginning.source.clock
    _refuse_lost_decisions(beginning, arrivals.decided)
    anew = begun_anew(source, monitor, beginning.before)
    numbers = range(clock.epoch_of(beginning.start), clock.epoch_of(beginning.end))
    revisions = {clock.epoch_of(seal.epoch_start): seal.revision + 1 for seal in beginning.standing}
    epochs = _epochs(beginning, numbers, arrivals, missing, rejected, revisions, leaving)
    bare = Plan(
        monitor.name, beginning.parent, beginning.ground, beginning.cursor, epochs, anew=anew,
        checked=beginning.checked, bare=begun_bare(beginning, anew),
    )  # fmt: skip
    return with_past(lake, MonitorRun(source, monitor, bare))


def _refuse_lost_decisions(beginning: Beginning, decided: Mapping[int, int]) -> None:
    """What was admitted or rejected when an epoch was sealed must be known when it is sealed again."""
    for seal in beginning.standing:
        if seal.counts.get(DECIDED, 0) > decided.get(beginning.source.clock.epoch_of(seal.epoch_start), 0):
            raise DamagedTable(
                f"{seal.monitor}, epoch {format_time(seal.epoch_start)}: the table `decisions` is damaged: what was"
                " admitted or rejected of it when it was sealed is gone. Restore it from a copy, or admit or reject it"
                f" again; the seal says: {seal.reason or 'nothing'}"
            )


def with_past(lake: Lake, run: MonitorRun) -> Plan:
    """The run's plan with the sealed epochs that it reads from."""
    plan, source = run.plan, run.source
    wanted = sorted(_needed(run))
    seals: list[Seal] = []
    for first, last in _stretches(wanted):
        start, end = source.clock.start_of(first), source.clock.end_of(last)
        seals += lake.ledger.seals(source.name, plan.monitor, start, end)
    found = {source.clock.epoch_of(seal.epoch_start): seal for seal in seals}
    past = {at: past_of(at, found[at]) for at in wanted}
    return replace(plan, past=past)


def past_of(number: int, seal: Seal) -> PastEpoch:
    owed, state_bytes = bool(seal.counts.get(OWED)), seal.counts.get("site_state_bytes", 0)
    writes = {output: seal.writes[output] for output in _READ if output in seal.writes}
    digests = {key: digest for key, digest in seal.digests.items() if key.split(":")[0] in _READ}
    return PastEpoch(number, writes, tuple(seal.missing_sites), owed, state_bytes, digests)


def _epochs(
    beginning: Beginning, numbers: range, arrivals: Arrivals, missing: Mapping[int, Collection[str]],
    rejected: Mapping[int, Collection[str]], revisions: Mapping[int, int], leaving: Leaving,
) -> tuple[PlannedEpoch, ...]:  # fmt: skip
    source, monitor, cursor = beginning.source, beginning.monitor, beginning.cursor
    window, placed = monitor.ask(source).window, placements_of(monitor, source)
    known = {member.site for member in cursor.members}
    joining = arrivals.joining(numbers.start, known)
    owed, roll = list(cursor.owed), Roll.after(cursor, leaving)
    epochs = []
    for number in numbers:
        joined = joining.get(number, {})
        new = sorted((joined.keys() | set(source.sites or ())) - known)
        known.update(new)
        roll.join(new, number)
        left, back, absent = roll.pass_epoch(number, arrivals.sites(number), missing.get(number, ()))
        sets_aside = arrivals.set_aside(monitor.name, number, absent, rejected.get(number, ()))
        counting = window.members(number)
        owed = [one for one in (*owed, *sets_aside) if one.epoch in counting]
        epochs.append(
            PlannedEpoch(
                number, tuple(Member(site, number, _placement(joined.get(site, {}), placed)) for site in new),
                tuple(absent), sum(one.rows for one in owed), tuple(sets_aside), revisions.get(number, 0),
                arrivals.digests.get(number, ""), arrivals.decided.get(number, 0),
                tuple(left), tuple(back),
            )
        )  # fmt: skip
    return tuple(epochs)


def _placement(texts: Texts, placed: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """A site that is listed, but has no events yet, is placed under empty texts."""
    return {method: texts.get(wanted, ("",) * len(wanted)) for method, wanted in placed.items()}


def _needed(run: MonitorRun) -> set[int]:
    """The epochs before the run that it reads: of states, of messages to hear again, of synopses that leave."""
    needed: set[int] = set()
    cursor, first = run.plan.cursor, run.first
    returning = _taking_part(run)
    for method in run.methods:
        if method.name in run.plan.anew:
            needed.update(method.ask.window.members(first))
            continue
        needed |= _of_inner(cursor.inner.get(method.name, {}).values(), first)
        states = cursor.sites.get(method.name, {})
        needed |= _of_states(states[site] for site in returning if site in states)
        for seen in {cursor.last_seen(member) for member in returning.values()}:
            # One more: who was missing in the epoch before is part of what a node knows of an epoch.
            needed.update(range(max(seen, run.begun(method.name)) - 1, first))
            needed |= _of_synopses(run, method, seen)
    needed |= {first - 2, first - 1}
    return {epoch for epoch in needed if cursor.first <= epoch < first}


def _taking_part(run: MonitorRun) -> dict[str, Member]:
    """The sites of the cursor that are present in some epoch of the run; of a run without epochs, all."""
    members = {member.site: member for member in run.plan.cursor.members}
    if not run.plan.epochs:
        return members
    always = set(run.plan.epochs[0].missing).intersection(*(one.missing for one in run.plan.epochs))
    return {site: member for site, member in members.items() if site not in always}


def _of_inner(stored: Iterable[StoredState], first: int) -> set[int]:
    """Also the epochs since in which the state stood still: a change that the run stores continues its last base."""
    going_on = (StoredState(one.base, first - 1) if first - one.base < oldest_base() else one for one in stored)
    return _of_states(going_on)


def _of_states(stored: Iterable[StoredState]) -> set[int]:
    return {epoch for one in set(stored) for epoch in range(one.base, one.last + 1)}


def _of_synopses(run: MonitorRun, method: Method, seen: int) -> set[int]:
    window, begun = method.ask.window, run.begun(method.name)
    if begun and seen < begun:
        return set(window.members(run.numbers.stop - 1 if run.plan.epochs else run.first))
    if not method.needs_expiring or not run.plan.epochs:
        return set()
    return set(window.leaving(seen, run.numbers.stop - 1)) | {
        epoch for number in run.numbers for epoch in window.leaving(number - 1, number)
    }


def _stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers in order as first and last of each stretch without a gap."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
