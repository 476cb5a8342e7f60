"""How a node's state is kept: a base image, then each epoch's changes, and nothing where nothing changed.

A change holds of every tally what was set and dropped, of every array, also of one in an image inside the state,
the compressed difference to the row before. When the changes after a base come to more bytes than the base, or
a fresh base would halve what must be read, the state is stored whole again. So

    bytes read to restore a state <= 2 * the last base,
    bytes stored <= 3 * what the changes alone would take, and the first base.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Literal, TypeVar

from monitoring_lib.codec import Image, body_of, changes_since, decode, encode
from monitoring_lib.errors import CodecError
from monitoring_lib.tally import Tally

S = TypeVar("S", bound=Image)
StoredForm = Literal["base", "change"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A state as a row of a table holds it."""

    form: StoredForm
    payload: bytes
    body: bytes = field(default=b"", compare=False, repr=False)
    """What `mark` keeps of the state, where `keep` had to make it anyway."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A state as its rows hold it: its body when nothing has changed, and what the rows weigh in bytes."""

    body: bytes
    base: int = 0
    changes: int = 0


def keep(state: Image, stored: Mark | None) -> Kept | None:
    """What of the state must be stored, None if nothing changed; `stored` is what `mark` gave, if it did."""
    if stored is None:
        return Kept("base", encode(state))
    found = changes_since(state, stored.body)
    if found is None:
        return None
    if found.whole:
        return Kept("base", found.frame, found.body)
    changes = stored.changes + len(found.frame)
    if changes > stored.base or any(tally.forgotten for tally in _tallies(state)):
        image = encode(state)
        if changes > stored.base or stored.base + changes > 2 * len(image):
            return Kept("base", image, found.body)
    return Kept("change", found.frame, found.body)


def mark(state: Image, rows: Iterable[Kept], stored: Mark | None = None) -> Mark:
    """Counts changes from here: the rows, a base and the changes after it, hold the state as it is now.

    With `stored`, which stands for earlier rows, the new ones are enough.
    """
    for tally in _tallies(state):
        tally.mark()
    base, changes = (stored.base, stored.changes) if stored is not None else (0, 0)
    body = b""
    for row in rows:
        base, changes = (len(row.payload), 0) if row.form == "base" else (base, changes + len(row.payload))
        body = row.body
    return Mark(body or body_of(state), base, changes)


def restore(kind: type[S], rows: Iterable[Kept]) -> S:
    """The state that these rows, a base and the changes after it in order, make up."""
    state: S | None = None
    for row in rows:
        if row.form == "change" and state is None:
            raise CodecError(f"{kind.__name__}: the first row is a change; the base before it is missing")
        state = decode(row.payload, kind, since=state if row.form == "change" else None)
    if state is None:
        raise ValueError(f"no row to restore a {kind.__name__} from")
    return state


def _tallies(state: Image) -> list[Tally]:
    values = (getattr(state, field.name) for field in fields(state))  # type: ignore[arg-type]  # a dataclass
    return [value for value in values if isinstance(value, Tally)]
