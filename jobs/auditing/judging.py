"""The judge of one stretch of epochs: two truths, of all that has landed and of what the sites took in."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from jobs.auditing.scope import Stretch
from jobs.epoch.cursor import Cursor
from monitoring_lib.answers import Answers, Verdict, Verdicts
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, node_of_site
from monitoring_lib.replay import Witness, is_partial
from monitoring_lib.summaries import Intake
from monitoring_lib.topology import Roster, Topology

PARTIAL = "partial where data is missing, and only there"
"""The promise that every answer gives beside those of its question."""


@dataclass
class Judge:
    """Watches the epochs of a stretch one after the other, and judges the sealed answers of those that are audited."""

    stretch: Stretch
    _landed: Witness = field(init=False)
    _taken: Witness = field(init=False)
    _owed: set[int] = field(default_factory=set)
    """Epochs in which landed events were set aside."""
    _lacking: set[int] = field(default_factory=set)
    """Epochs at whose end something was owed, or a site was missing."""
    _extra: set[str] = field(default_factory=set)
    """Sites whose events landed for an epoch before the roster knew them."""
    _bare: bool = False
    """Whether epochs of the window came before the method began, and it knows nothing of them."""
    _roster: Roster = field(default_factory=Roster)
    _topology: Topology | None = None

    def __post_init__(self) -> None:
        method = self.stretch.method
        self._landed = self._taken = Witness.of(method.question, method.ask)

    @cached_property
    def intake(self) -> Intake:
        """What its truth is computed from."""
        stretch = self.stretch
        return stretch.monitor.intake(stretch.method.question.exact(stretch.method.ask), stretch.source)

    def watch(
        self, cursor: Cursor, before: Collection[str], synopses: Mapping[str, Any], counted: Mapping[str, int]
    ) -> Moment:  # fmt: skip
        """Takes in the epoch that the cursor ends: by site its exact synopses, and how many events count.

        `before` are the sites that took part in the epoch before.
        """
        epoch = cursor.epoch
        known = {member.site for member in cursor.members}
        if counted.keys() & cursor.away.keys():
            self._owed.add(epoch)
        moment = self._moment(cursor, frozenset(map(node_of_site, before)))
        if moment.owed or moment.missing:
            self._lacking.add(epoch)
        if moment.missing and self._taken is self._landed:
            self._taken = copy.deepcopy(self._landed)
        by_node = {node_of_site(site): synopsis for site, synopsis in synopses.items()}
        if self._taken is not self._landed:
            self._taken.observe(moment, {node: one for node, one in by_node.items() if node in moment.sites})
        self._extra = {*self._extra, *synopses} - known
        self._landed.observe(replace(self._with_all(moment), missing=frozenset(), owed=False), by_node)
        return moment

    def _with_all(self, moment: Moment) -> Moment:
        """With every site that has landed events, also where nobody let it join."""
        return replace(moment, sites=tuple(sorted({*moment.sites, *map(node_of_site, self._extra)})))

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        """An answer that is not partial is held to all landed events, a partial one to what the sites took in."""
        if self._bare:  # what the sites took in began with the method: all that is promised is to say so
            return Verdicts.of([self._partial(moment, answers)])
        if is_partial(moment, answers):
            found = self._taken.truth.judge(moment, answers)
        else:
            found = self._landed.truth.judge(self._with_all(moment), answers)
        return Verdicts.concat([found, Verdicts.of([self._partial(moment, answers)])])

    def _partial(self, moment: Moment, answers: Answers) -> Verdict:
        """Partial exactly where rows of the window were set aside, or a site is missing whose part is not known."""
        rows = list(zip(answers.column("tick"), answers.column("partial"), strict=True))
        whole = sum(1 for _, partial in rows if not partial) if moment.owed else 0
        groundless = sum(1 for tick, partial in rows if partial and not self._lacked(moment, tick))
        return Verdict(
            COORDINATOR, moment.end, "", PARTIAL, float(moment.owed), float(whole + groundless), 0.0,
            whole + groundless == 0,
        )  # fmt: skip

    def _lacked(self, moment: Moment, tick: int) -> bool:
        """Whether something lacked in the epoch of a row's tick, or in one since."""
        clock = self.stretch.source.clock
        return not self._lacking.isdisjoint(range(clock.epoch_of(tick - 1), moment.epoch + 1))

    def _moment(self, cursor: Cursor, before: frozenset[str]) -> Moment:
        clock, window, epoch = self.stretch.source.clock, self.stretch.method.ask.window, cursor.epoch
        sites, topology = self._network(cursor)
        missing = frozenset(map(node_of_site, cursor.away))
        begun = cursor.begun.get(self.stretch.method.name, 0)
        self._bare = self.stretch.method.name in cursor.bare and window.members(epoch).start < begun <= epoch
        owed = self._bare or not self._owed.isdisjoint(window.members(epoch))
        return Moment(
            epoch, clock.start_of(epoch), clock.end_of(epoch), window.period_of(epoch), topology, sites,
            missing, owed, frozenset(sites) - missing - before,
        )  # fmt: skip

    def _network(self, cursor: Cursor) -> tuple[tuple[str, ...], Topology]:
        """The sites on the roster and their topology, built anew only where somebody has joined or left."""
        method = self.stretch.method
        placed = {node_of_site(one.site): one.placements.get(method.name, ()) for one in cursor.members}
        if self._topology is None or self._roster.nodes != tuple(placed):
            self._roster = Roster(tuple(placed), placed)
            self._topology = method.topology(self._roster)
        return self._roster.sites, self._topology


def present_of(cursor: Cursor) -> list[str]:
    """The sites that took part in the epoch that the cursor ends."""
    return [member.site for member in cursor.members if member.site not in cursor.away]


def answers_of(drafts: pa.Table) -> Answers:
    """The rows of a sealed epoch as its nodes published them."""
    columns = [
        drafts[name].cast(pa.int64()) if name == "tick" else drafts[name] for name in Answers.schema.names
    ]  # fmt: skip
    return Answers(pa.Table.from_arrays(columns, schema=Answers.schema))
