"""Step 1, land: files that the source has not brought before become events, each under its own epoch."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.late import earliest_taken
from jobs.epoch.reasons import by_reason
from jobs.epoch.replaying import end_of_chain, replay_command
from jobs.input import files
from jobs.input import versions as delta_versions
from jobs.input.files import FoundFile
from jobs.lake import new_write
from jobs.lake.ledger import Overtaken
from jobs.landing import recording
from jobs.landing.bringing import Bringing, Brought, FilesToLand
from jobs.landing.decisions import Mode
from jobs.landing.filing import AcceptedTimes
from jobs.landing.forgotten import refuse_forgotten
from jobs.landing.known import Known, LandedFile, all_landings, files_seen, known_of, landings_in_order
from jobs.terminal.console import say
from monitoring_lib.config import Source
from monitoring_lib.config.meaning import landing_changes, landing_of
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.errors import ConfigError, DataError, StorageError, UsageError
from monitoring_lib.tables import LANDINGS

_MOST_TRIES = 5


def land(context: Context, handover: Handover, again: bool = False, changed: Mode | None = None) -> None:
    """Lands every new file of the source; commits nothing where there is none.

    `again` also reads the files anew whose rows were set aside, under the configuration of now. Rows that have
    landed, by the digest of their file and their line, do not land twice. `changed` goes before `changed_files`.
    """
    source = context.config.source(handover.source)
    _refuse_other_meaning(context, source)
    if changed == "append" and source.format not in ("csv", "json"):
        raise UsageError(f"--changed append: {source.format} files do not grow; write `--changed replace`")
    with handover.timed("land"):
        for _ in range(_MOST_TRIES):
            try:
                handover.landing = _land_once(
                    context, source, again, changed or source.changed_files, bool(handover.revise)
                )
                return
            except Overtaken as overtaken:
                say(str(overtaken))
        raise StorageError(f"{source.name}: {_MOST_TRIES} landings were all overtaken by others; try again")


def _refuse_other_meaning(context: Context, source: Source) -> None:
    """Rows that mean something else cannot join those that have landed; nothing is written before this is known."""
    before = context.lake.ledger.landed_as(source.name)
    changes = landing_changes(before, landing_of(source)) if before else []
    if changes:
        raise ConfigError(
            f"{source.name}: has landed events under another configuration. Changed: {'; '.join(changes)}."
            " Take the change back and everything goes on as before, or give the source a new name: under that, its"
            " files land anew"
        )


def _land_once(context: Context, source: Source, again: bool, mode: Mode, replays: bool) -> int:
    """The number of the last landing once this one, if there was anything to land, is sealed."""
    lake = context.lake
    journal = lake.ledger.journal(source.name, source.clock)
    after = journal[-1].revision if journal else 0
    rows = all_landings(lake, source)
    landed = landings_in_order(source, rows, journal)
    found, seen = files.find(source.path, context.home), files_seen(landed)
    there = {file.path for file in found}
    monitors = [monitor.name for monitor in context.config.monitors_of(source.name)]
    if not found and not seen:
        recording.record_no_files(lake, source, new_write("land"))
    new = _still(source, [file for file in found if seen.get(file.path) != (file.size, file.modified)])
    if not new and not again:
        refuse_forgotten(lake, source, monitors, rows, journal, there)
        return after
    known = known_of(landed)
    anew = _set_aside_before(known, found, new) if again else []
    if not new and not anew:
        return after
    before = recording.refusals_before(lake, source)
    wanted = FilesToLand(new, anew, there, mode)
    taken = AcceptedTimes(earliest_taken(lake, source), int(time.time() * 1_000_000) + source.skew)
    brought = Bringing(lake, source, known, wanted, taken).bring()
    read = {report.digest for report in brought.reports.values()}
    refuse_forgotten(lake, source, monitors, rows, journal, there, read)
    refused = {
        path: one.reason.removeprefix(f"{path}: ") for path, one in sorted(brought.decided.items()) if one.how is None
    }
    for path, reason in refused.items():
        say(f"{path} is not landed: {reason}", style="red")
    news = {path: reason for path, reason in refused.items() if before.get(path) != reason}
    recording.record_refusals(lake, source, news, brought.write)
    landings = recording.landings_brought([*new, *anew], brought)
    if landings:
        _seal(context, source, known, landings, brought, after)
        return after + 1
    if (news and not replays) or (refused and not after):
        # Of a file that was refused before, people know: it holds up no epoch twice, and a replay, which is about what
        # has landed, never. But where nothing has landed yet, there is nothing to go on with.
        path, reason = min((news or refused).items())
        raise DataError(f"no file of {source.name} could be landed; {path}: {reason}")
    return after


def _still(source: Source, new: Sequence[FoundFile]) -> list[FoundFile]:
    """The files that have not changed for as long as the source says; versions of a table never change."""
    limit = int(time.time() * 1_000_000) - source.settle
    still = [file for file in new if file.modified <= limit or not source.settle or _is_version(file)]
    if len(still) < len(new):
        waiting = len(new) - len(still)
        say(f"{source.name}: {waiting} new files wait until they have been still for {format_duration(source.settle)}")
    return still


def _is_version(file: FoundFile) -> bool:
    return delta_versions.parse(file.path) is not None


def _set_aside_before(known: Known, found: Sequence[FoundFile], new: Sequence[FoundFile]) -> list[FoundFile]:
    """The files, as they landed, whose last reading set rows aside."""
    changed = {file.path for file in new}
    unchanged = {file.path: file for file in found if file.path not in changed}
    wanted: dict[str, FoundFile] = {}
    for digest, one in sorted(known.aside.items()):
        path = next((path for path in sorted(unchanged) if digest in known.chains.get(path, ())), "")
        if path:
            wanted[path] = unchanged[path]
        else:
            say(f"{one.path} is gone or has changed: its rows in quarantine cannot be read again", style="yellow")
    return [wanted[path] for path in sorted(wanted)]


def _seal(
    context: Context, source: Source, known: Known, landings: Sequence[LandedFile], brought: Brought, after: int
) -> None:  # fmt: skip
    lake, write = context.lake, brought.write
    gone = known.add(landings)
    counts = recording.counts_of(landings, gone)
    late = _late(context, source, counts)
    reached = {start for starts in late.values() for start in starts}
    lake.append(LANDINGS, recording.landing_rows(source, landings, brought.decided, reached))
    recording.expect_few_set_aside(lake, source, brought.tally, after + 1, write)
    lake.ledger.seal_landing(
        source.name, source.clock, after, write, counts, landing_of(source), recording.replaced_by_epoch(gone)
    )
    rows, aside = brought.tally.epochs.total(), brought.tally.kinds.total()
    instead = sum(sum(one.epochs.values()) for one in gone)
    replaced = f" in the place of {instead}" if gone else ""
    say(f"{source.name}: {len(landings)} new files, {rows} rows landed{replaced}, {aside} went to quarantine")
    _tell_late(context, source, counts, late)


def _late(context: Context, source: Source, counts: Mapping[int, Mapping[str, int]]) -> dict[str, list[int]]:
    """By monitor, the epochs that it has sealed and that this landing reaches."""
    if not counts:
        return {}
    found = {}
    for monitor in context.config.monitors_of(source.name):
        seals = context.lake.ledger.seals(source.name, monitor.name, min(counts), max(counts) + 1)
        reached = sorted(counts.keys() & {seal.epoch_start for seal in seals})
        if reached:
            found[monitor.name] = reached
    return found


def _tell_late(
    context: Context, source: Source, counts: Mapping[int, Mapping[str, int]], late: Mapping[str, Collection[int]]
) -> None:  # fmt: skip
    told = {}
    for monitor, starts in late.items():
        first, rows = min(starts), sum(sum(counts[start].values()) for start in starts)
        end = end_of_chain(context.lake.ledger, source.name, monitor, first, source.epoch)
        told[monitor] = (
            f"{rows} rows were added to {len(starts)} sealed epochs, or removed, from {format_time(first)} on;"
            f" `{replay_command(source.name, monitor, first, end, 'late rows')}` revises them"
        )
    for names, text in by_reason(told).items():
        say(f"{', '.join(names)}: {text}", style="yellow")
