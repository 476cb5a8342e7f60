"""A monitor's chain of sealed epochs: who its sites are, when each last observed, whose states go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jobs.context import Context
from jobs.lake.seals import Seal
from jobs.summaries import wanted_by
from monitoring_lib.config import Monitor, Source, meaning_of
from monitoring_lib.epochs import Clock, format_time
from monitoring_lib.errors import EpochGapError, UsageError
from monitoring_lib.protocols import find_method, find_question

_PLAIN = ("name", "question", "source", "method", "item", "measure", "window", "reset")


@dataclass
class Chain:
    """The seals of a monitor before some epoch, in order."""

    source: Source
    monitor: Monitor
    seals: Sequence[Seal]
    anew: frozenset[str] = frozenset()
    """The methods whose states, if any, cannot be carried on under the monitor as it is now."""
    roster: set[str] = field(default_factory=set)
    """The sites known so far."""
    last_seen: dict[str, int] = field(default_factory=dict)
    """The number of the epoch at which each site last observed."""

    def __post_init__(self) -> None:
        for seal in self.seals:
            self.extend(seal.epoch_start, seal.joined_sites, seal.missing_sites)

    @property
    def clock(self) -> Clock:
        return self.source.clock

    def extend(self, epoch_start: int, joined: Sequence[str], missing: Sequence[str]) -> None:
        """Goes on by one epoch."""
        self.roster |= set(joined)
        epoch = self.clock.epoch_of(epoch_start)
        absent = set(missing)
        self.last_seen.update({site: epoch for site in self.roster if site not in absent})

    def before(self, epoch_start: int) -> Chain:
        """The same chain as it was before an epoch."""
        return Chain(self.source, self.monitor, [seal for seal in self.seals if seal.epoch_start < epoch_start])

    def living(self, method: str) -> Sequence[Seal]:
        """The seals whose states of a method go on: those since it was last begun anew."""
        if method in self.anew:
            return ()
        begun = max((at for at, seal in enumerate(self.seals) if begun_anew(method) in seal.counts), default=0)
        return self.seals[begun:]


def begun_anew(method: str) -> str:
    """The count by which a seal says that a method began in its epoch without earlier states."""
    return f"anew {method}"


def chain_before(context: Context, source: Source, monitor: Monitor, epoch_start: int) -> Chain:
    """The chain that the epoch goes on from; EpochGapError if an epoch of it is not sealed, or stale."""
    seals = context.lake.ledger.seals(source.name, monitor.name, end=epoch_start)
    expected = source.clock.epoch_of(epoch_start)
    if len(seals) != expected:
        sealed = {seal.epoch_start for seal in seals}
        starts = map(source.clock.start_of, range(expected))
        missing = format_time(next(start for start in starts if start not in sealed))
        raise EpochGapError(
            f"{monitor.name}: epoch {missing} is not sealed, so {format_time(epoch_start)} cannot be run; first"
            f" run `farwatch run --source {source.name} --from {missing} --to {format_time(epoch_start)}`"
        )
    for before, seal in pairwise(seals):
        if seal.parent != before.digest:
            stale = format_time(seal.epoch_start)
            raise EpochGapError(
                f"{monitor.name}: epoch {stale} goes on from a state that has been revised since, so"
                f" {format_time(epoch_start)} cannot be run; first run `farwatch run --source {source.name} --from"
                f" {stale} --to {format_time(epoch_start)} --revise REASON`"
            )
    return Chain(source, monitor, seals, _cannot_go_on(source, monitor, seals))


def ground_of(chain: Chain, standing: Sequence[Seal]) -> str:
    """A digest of what a run goes out from: the epoch before it, and what is sealed where it will seal."""
    parent = chain.seals[-1].digest if chain.seals else ""
    content = [parent, [[seal.epoch_start, seal.write] for seal in standing]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def first_unsealed(context: Context, source: Source, monitor: Monitor, start: int, end: int) -> int | None:
    """The first epoch of the interval that the monitor has not sealed, None if it has sealed them all."""
    sealed = {seal.epoch_start for seal in context.lake.ledger.seals(source.name, monitor.name, start, end)}
    return next((at for at in range(start, end, source.epoch) if at not in sealed), None)


def _cannot_go_on(source: Source, monitor: Monitor, seals: Sequence[Seal]) -> frozenset[str]:
    """The methods that the last seal has no usable states of. An error if even its synopses are others."""
    if not seals or seals[-1].config == meaning_of(monitor, source):
        return frozenset()
    then = json.loads(seals[-1].config)
    about, asked = then["source"], then["monitor"]
    question = find_question(monitor.question)
    if asked["question"] != monitor.question or about["epoch"] != source.epoch or about["origin"] != source.origin:
        raise UsageError(_other_question(monitor, "its question, or the epochs of its source, are others"))
    before = Monitor(
        **{name: asked[name] for name in _PLAIN},
        params=question.Params(**asked["params"]),
        shadow=tuple(asked["shadow"]),
        options={
            name: find_method(monitor.question, name).Options(**options) for name, options in asked["options"].items()
        },
    )  # fmt: skip
    old_source = source.model_copy(update={"scale": about["scale"]})
    if wanted_by(before, old_source).name != wanted_by(monitor, source).name or about["scale"] != source.scale:
        raise UsageError(_other_question(monitor, "what it counts (item, measure or scale) is another"))
    return frozenset(
        name
        for name in monitor.methods
        if name not in before.methods
        or not find_method(monitor.question, name)(monitor.ask(source.epoch, source.scale, name)).continues(
            before.ask(source.epoch, source.scale, name)
        )
    )


def _other_question(monitor: Monitor, difference: str) -> str:
    return (
        f"{monitor.name}: {difference} than in its sealed epochs, so they cannot be gone on from;"
        " give the changed monitor a new name, or take the change back"
    )
