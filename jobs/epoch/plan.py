"""What the gate decides for one monitor's run. It is frozen: the steps after it read it and decide nothing anew."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import Struct, field

from jobs.epoch.cursor import Cursor, Member, Owed


class PlannedEpoch(Struct, frozen=True, array_like=True):
    """Who joins and who is missing in an epoch of the run; `owed` counts the rows of its window that were set aside."""

    number: int
    joined: tuple[Member, ...] = ()
    missing: tuple[str, ...] = ()
    owed: int = 0
    sets_aside: tuple[Owed, ...] = ()
    """The rows of this very epoch that its missing sites have landed."""
    revision: int = 0
    """Under which the epoch will be sealed."""
    arrivals: str = ""
    """Digest of the epoch's rows in `arrivals`, '' if there are none."""
    decided: int = 0
    """Sites of which somebody has admitted or rejected this epoch's rows."""
    left: tuple[str, ...] = ()
    """The sites that leave with this epoch."""
    back: tuple[str, ...] = ()
    """The sites that had left and have events again."""


class PastEpoch(Struct, frozen=True, array_like=True):
    """A sealed epoch of which something is read: by output the write that holds it, and who was missing."""

    number: int
    writes: Mapping[str, str]
    missing: tuple[str, ...] = ()
    owed: bool = False
    state_bytes: int = 0
    """What the sites' states took that were stored in it."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """By output, and method or summary, of what is read."""


class Plan(Struct, frozen=True):
    """One monitor over the epochs of one run."""

    monitor: str
    parent: str
    """Digest of the seal before the first epoch, '' if there is none."""
    ground: str
    """Digest of what the ledger said when the run was planned: nothing else may be sealed over."""
    cursor: Cursor
    """As the epoch before the first has left it."""
    epochs: tuple[PlannedEpoch, ...]
    past: Mapping[int, PastEpoch] = field(default_factory=dict)
    """By number, the sealed epochs that the run reads from."""
    anew: tuple[str, ...] = ()
    """The methods that begin with the first epoch, without earlier states."""
    checked: int = 0
    """The ledger's commit up to which the chain before is known to hang together."""
    bare: tuple[str, ...] = ()
    """Those of `anew` whose synopses of earlier epochs do not exist."""

    def to_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)


def digest_of(text: str) -> str:
    """Of a plan as it is stored."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
