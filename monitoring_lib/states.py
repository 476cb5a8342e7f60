"""How a node's state is kept: a base image, then each epoch's changes, and nothing where nothing changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from monitoring_lib.codec import Image, decode, encode
from monitoring_lib.errors import CodecError
from monitoring_lib.tally import Tally

S = TypeVar("S", bound=Image)
Form = Literal["base", "change"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A state as a row of a table holds it."""

    form: Form
    payload: bytes


def keep(state: Image, quiet: bytes | None) -> Kept | None:
    """What of the state must be stored, None if nothing changed; `quiet` is what `mark` gave, if it did."""
    payload = encode(state, changes_only=True)
    if payload == quiet:
        return None
    whole = all(tally.forgotten for tally in _tallies(state))
    return Kept("base" if whole else "change", payload)


def mark(state: Image) -> bytes:
    """Counts changes from here; the frame of a state in which nothing changed."""
    for tally in _tallies(state):
        tally.mark()
    return encode(state, changes_only=True)


def restore(kind: type[S], rows: Iterable[Kept]) -> S:
    """The state that these rows, a base and the changes after it in order, make up."""
    state: S | None = None
    for row in rows:
        later = decode(row.payload, kind)
        if row.form == "change":
            if state is None:
                raise CodecError(f"{kind.__name__}: the first row is a change; the base before it is missing")
            for field in fields(state):  # type: ignore[arg-type]  # images are dataclasses
                _carry(state, later, field.name)
        state = later
    if state is None:
        raise ValueError(f"no row to restore a {kind.__name__} from")
    return state


def _carry(before: Any, later: Any, name: str) -> None:
    """A tally of the later state becomes the earlier one with the changes; other fields are whole already."""
    tally, change = getattr(before, name), getattr(later, name)
    if isinstance(tally, Tally) and isinstance(change, Tally):
        tally.apply(change)
        setattr(later, name, tally)


def _tallies(state: Image) -> list[Tally]:
    values = (getattr(state, field.name) for field in fields(state))  # type: ignore[arg-type]
    return [value for value in values if isinstance(value, Tally)]
