"""A base image and the changes after it make up the state; nothing is kept where nothing changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

from monitoring_lib.codec import Image, Ints, encode
from monitoring_lib.errors import CodecError
from monitoring_lib.states import Kept, keep, mark, restore
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class Part(Image, tag=250, version=1):
    """An image inside another: it has no changes of its own, it is stored whole."""

    sums: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class Remembered(Image, tag=251, version=1):
    period: int = 0
    cells: Ints = field(default_factory=lambda: np.zeros(4, np.int64))
    sums: Tally = field(default_factory=Tally)
    gaps: Tally = field(default_factory=Tally)
    spare: Tally | None = None
    parts: list[Part] = field(default_factory=list)


@dataclass(slots=True)
class Plain(Image, tag=252, version=1):
    number: int = 0


def live(state: Remembered, rng: Random) -> None:
    """One random change."""
    tally = rng.choice([state.sums, state.gaps])
    name = rng.choice("abcdef")
    rng.choice(
        [
            lambda: tally.add(name, rng.randint(-3, 3)),
            lambda: tally.add(name, rng.randint(-3, 3)),
            lambda: tally.set(name, rng.randint(0, 3)),
            lambda: tally.drop(name),
            lambda: tally.clear() if rng.random() < 0.3 else None,
            lambda: setattr(state, "period", rng.randint(0, 2)),
            lambda: state.cells.__setitem__(rng.randrange(4), rng.randint(0, 1 << 40)),
            lambda: setattr(state, "spare", rng.choice([None, Tally(), Tally([("s", 1)])])),
            lambda: state.spare.add("s", 1) if state.spare is not None else None,
            lambda: state.parts.append(Part(Tally([("p", 1)]))) if len(state.parts) < 3 else None,
            lambda: state.parts[0].sums.add("p", 1) if state.parts else None,
        ]
    )()


@pytest.mark.parametrize("seed", range(30))
def test_the_rows_of_any_life_restore_the_state_at_every_epoch(seed: int) -> None:
    rng = Random(seed)
    state, quiet, rows = Remembered(), None, []
    for _ in range(25):
        for _ in range(rng.choice([0, 0, 1, 2, 8])):
            live(state, rng)
        row = keep(state, quiet)
        rows += [row] if row else []
        quiet = mark(state)
        back = restore(Remembered, rows)
        assert encode(back) == encode(state)
        assert mark(back) == quiet, "a restored state counts its changes from where the stored one does"


def test_a_row_is_kept_at_first_and_then_only_where_something_changed() -> None:
    state = Remembered()
    first = keep(state, None)
    assert first is not None
    assert first.form == "base"
    quiet = mark(state)
    assert keep(state, quiet) is None
    state.sums.add("a", 1)
    changed = keep(state, quiet)
    assert changed is not None
    assert changed.form == "change"
    assert mark(state) == quiet
    assert keep(state, quiet) is None


def test_a_change_is_as_large_as_what_changed_not_as_what_is_known() -> None:
    small, large = (
        Remembered(),
        Remembered(sums=Tally((f"item {number}", number) for number in range(10_000))),
    )
    sizes = []
    for state in (small, large):
        quiet = mark(state)
        state.sums.add("item 7", 1)
        row = keep(state, quiet)
        assert row is not None
        sizes.append(len(row.payload))
    assert sizes[0] == sizes[1] < 100 < len(encode(large)) / 100


def test_a_state_whose_tallies_were_all_forgotten_is_a_base_again() -> None:
    state = Remembered(sums=Tally([("a", 1)]), gaps=Tally([("b", 1)]))
    quiet = mark(state)
    state.sums.clear()
    one = keep(state, quiet)
    state.gaps.clear()
    both = keep(state, quiet)
    assert one is not None
    assert both is not None
    assert (one.form, both.form) == ("change", "base")
    assert encode(restore(Remembered, [both])) == encode(state)


def test_a_state_without_tallies_is_always_a_whole_image() -> None:
    state = Plain(3)
    quiet = mark(state)
    state.number = 4
    row = keep(state, quiet)
    assert row is not None
    assert row.form == "base"
    assert restore(Plain, [row]) == Plain(4)


def test_rows_before_a_base_do_not_matter() -> None:
    rows = [
        Kept("base", encode(Remembered(sums=Tally([("old", 1)])))),
        Kept("base", encode(Remembered(period=2))),
    ]
    assert encode(restore(Remembered, rows)) == encode(Remembered(period=2))


def test_without_a_row_there_is_no_state() -> None:
    with pytest.raises(ValueError, match="no row to restore a Remembered"):
        restore(Remembered, [])


def test_changes_without_their_base_are_refused() -> None:
    state = Remembered(sums=Tally([("a", 1)]))
    quiet = mark(state)
    state.sums.add("b", 1)
    row = keep(state, quiet)
    assert row is not None
    with pytest.raises(CodecError, match="base before it is missing"):
        restore(Remembered, [row])


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:8] + b"\xff" + b[9:]])
def test_a_damaged_row_is_refused(damage: Any) -> None:
    with pytest.raises(CodecError):
        restore(Remembered, [Kept("base", damage(encode(Remembered(period=2))))])


def test_a_row_of_another_class_is_refused() -> None:
    with pytest.raises(CodecError, match="none of Remembered"):
        restore(Remembered, [Kept("base", encode(Plain()))])
