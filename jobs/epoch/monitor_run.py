"""A plan with the objects that it speaks of: source, monitor, methods, and what each epoch looks like to its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from jobs.epoch.cursor import Cursor, Member
from jobs.epoch.plan import PastEpoch, Plan, PlannedEpoch
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import Clock
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import node_of_site
from monitoring_lib.topology import Roster, Topology


@dataclass(frozen=True)
class MonitorRun:
    """One monitor over the epochs of its plan; `synopses` is the write of this run's synopses."""

    source: Source
    monitor: Monitor
    plan: Plan
    synopses: str = ""
    _rosters: dict[tuple[str, int], tuple[Roster, Topology]] = field(default_factory=dict, repr=False)

    @property
    def clock(self) -> Clock:
        return self.source.clock

    @cached_property
    def methods(self) -> Sequence[Method]:
        """The published one first."""
        chosen, shadows = self.monitor.method_objects(self.source)
        return [chosen, *shadows]

    @property
    def first(self) -> int:
        return self.plan.cursor.epoch + 1

    @property
    def numbers(self) -> range:
        """The epochs of the run."""
        return range(self.first, self.first + len(self.plan.epochs))

    def planned(self, epoch: int) -> PlannedEpoch:
        return self.plan.epochs[epoch - self.first]

    def start_of(self, epoch: int) -> int:
        return self.clock.start_of(epoch)

    @cached_property
    def members(self) -> Sequence[Member]:
        """All sites up to the run's end, in the order of joining."""
        return [*self.plan.cursor.members, *(member for one in self.plan.epochs for member in one.joined)]

    @cached_property
    def _known(self) -> Mapping[str, Member]:
        return {member.site: member for member in self.members}

    def sites(self, epoch: int) -> list[str]:
        """The sites known at an epoch, in the order of joining."""
        return [member.site for member in self.members if member.joined <= epoch]

    def present(self, epoch: int) -> list[str]:
        absent = set(self.missing(epoch))
        return [site for site in self.sites(epoch) if site not in absent]

    def missing(self, epoch: int) -> Sequence[str]:
        return self.planned(epoch).missing if epoch >= self.first else self.past(epoch).missing

    def past(self, epoch: int) -> PastEpoch:
        return self.plan.past[epoch]

    def last_seen(self, site: str, epoch: int) -> int:
        """The last epoch before this one that a site observed; the one before it joined, if there is none."""
        member = self._known[site]
        for one in range(epoch - 1, self.first - 1, -1):
            if member.joined > one:
                break
            if site not in self.planned(one).missing:
                return one
        return member.joined - 1 if member.joined >= self.first else self.plan.cursor.last_seen(member)

    def begun(self, method: str) -> int:
        """The epoch since which a method's states go on."""
        return self.first if method in self.plan.anew else self.plan.cursor.begun.get(method, 0)

    @property
    def is_bare(self) -> bool:
        """Whether a method of the run begins, or began, without synopses of the epochs before it."""
        return bool(self.plan.bare or self.plan.cursor.bare)

    def lacks_past(self, method: Method, epoch: int) -> bool:
        """Whether epochs of the window came before the method began, and no synopses of its kind were made of them."""
        begun, name = self.begun(method.name), method.name
        bare = name in self.plan.bare if name in self.plan.anew else name in self.plan.cursor.bare
        return bare and method.ask.window.members(epoch).start < begun <= epoch

    def counting(self, epochs: range) -> range:
        """Those of some epochs that the chain has: none before it begins."""
        begins = self.plan.cursor.first
        return range(max(epochs.start, begins), max(epochs.stop, begins))

    def moment(self, method: Method, epoch: int) -> Moment:
        """What every node of a method knows of an epoch, of this run or before it."""
        known = sum(1 for member in self.members if member.joined <= epoch)
        roster, topology = self._roster(method, known)
        owed = bool(self.planned(epoch).owed) if epoch >= self.first else self.past(epoch).owed
        owed = owed or self.lacks_past(method, epoch)
        return Moment(
            epoch, self.clock.start_of(epoch), self.clock.end_of(epoch), method.ask.window.period_of(epoch),
            topology, roster.sites, frozenset(map(node_of_site, self.missing(epoch))), owed, self._returning(epoch),
        )  # fmt: skip

    def _returning(self, epoch: int) -> frozenset[str]:
        """The nodes of the sites that take part and took none in the epoch before."""
        before = set(self.present(epoch - 1)) if self.sites(epoch - 1) else set()
        return frozenset(node_of_site(site) for site in self.present(epoch) if site not in before)

    def _roster(self, method: Method, known: int) -> tuple[Roster, Topology]:
        """The first `known` members; a topology is built only where somebody has joined."""
        key = method.name, known
        if key not in self._rosters:
            members = {node_of_site(one.site): one.placements.get(method.name, ()) for one in self.members[:known]}
            roster = Roster(tuple(members), members)
            self._rosters[key] = roster, method.topology(roster)
        return self._rosters[key]

    def next_cursor(self, before: Cursor, epoch: int) -> Cursor:
        """The cursor after an epoch of the run, of the one before it; where states are stored is added later."""
        one = self.planned(epoch)
        return before.joined(one.joined, one.missing, one.sets_aside, self.methods[0].ask.window, one.left, one.back)

    @property
    def first_cursor(self) -> Cursor:
        """As the run's first epoch finds it."""
        return self.plan.cursor.begin(self.plan.anew, self.plan.bare)

    def after(self, cursor: Cursor, written: Iterable[PastEpoch]) -> MonitorRun:
        """The run that would go on from here, once these epochs are sealed."""
        past = {**self.plan.past, **{one.number: one for one in written}}
        return MonitorRun(
            self.source, self.monitor, replace(self.plan, cursor=cursor, epochs=(), past=past, anew=(), bare=())
        )  # fmt: skip
