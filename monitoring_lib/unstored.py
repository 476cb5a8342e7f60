"""What a role has at hand of the states that it serves, and that no image holds: caches and exchanges under way."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from monitoring_lib.codec import Image
from monitoring_lib.network import Delivery, Post

Turns = Generator[list[Post], Sequence[Delivery], None]
"""An epoch at the coordinator: what it posts in a round, and the inbox of the next one."""

W = TypeVar("W")


@dataclass(slots=True)
class _Entry(Generic[W]):
    state: Image
    epoch: int
    work: W
    settled: bool = False


class Unstored(Generic[W]):
    """Work by state object, so that one role can serve several nodes.

    A cache is good for the epoch after the one it was used in, and no later: in between another role may have
    changed the state. What has settled is let go once another state settles a different epoch.
    """

    def __init__(self) -> None:
        self._entries: dict[int, _Entry[W]] = {}

    def of_epoch(self, state: Image, epoch: int) -> W | None:
        """What was put for this state in this very epoch."""
        entry = self._entries.get(id(state))
        return entry.work if entry is not None and entry.epoch == epoch else None

    def up_to(self, state: Image, epoch: int) -> W | None:
        """What was put for this state in this epoch or the one before."""
        entry = self._entries.get(id(state))
        return entry.work if entry is not None and entry.epoch in (epoch - 1, epoch) else None

    def put(self, state: Image, epoch: int, work: W) -> W:
        self._entries[id(state)] = _Entry(state, epoch, work)  # which holds the state, so that its id stays its own
        return work

    def drop(self, state: Image) -> None:
        """Lets go of what was put for this state."""
        self._entries.pop(id(state), None)

    def settle(self, state: Image, epoch: int) -> None:
        """The epoch of this state is over."""
        if id(state) in self._entries:
            self._entries[id(state)].settled = True
        for key in [key for key, entry in self._entries.items() if entry.settled and entry.epoch != epoch]:
            del self._entries[key]
