"""A base image and the changes after it make up the state; nothing is kept where nothing changed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

from monitoring_lib.codec import Floats, Image, Ints, Words, decode, encode
from monitoring_lib.errors import CodecError
from monitoring_lib.names import MANY, Names
from monitoring_lib.states import Kept, Mark, keep, mark, restore
from monitoring_lib.synopses.count_min import CountMin
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class Part(Image, tag=250, version=1):
    """An image inside another: its tally has no changes of its own, its array has."""

    sums: Tally = field(default_factory=Tally)
    cells: Ints = field(default_factory=lambda: np.zeros(40, np.int64))


@dataclass(slots=True)
class Remembered(Image, tag=251, version=1):
    period: int = 0
    cells: Ints = field(default_factory=lambda: np.zeros(4, np.int64))
    sums: Tally = field(default_factory=Tally)
    gaps: Tally = field(default_factory=Tally)
    spare: Tally | None = None
    parts: list[Part] = field(default_factory=list)
    grid: Ints = field(default_factory=lambda: np.zeros((8, 30), np.int64))
    bits: Words = field(default_factory=lambda: np.zeros(64, np.uint64))
    reals: Floats = field(default_factory=lambda: np.zeros(50))
    named: dict[str, Part] = field(default_factory=dict)
    pair: tuple[str, Ints] = field(default_factory=lambda: ("p", np.arange(30)))


@dataclass(slots=True)
class Plain(Image, tag=252, version=1):
    number: int = 0


@dataclass(slots=True)
class Sketch(Image, tag=253, version=1):
    """Holds a synopsis, as a family's states do."""

    sketch: CountMin


@dataclass
class Life:
    """A state and its rows, as a node's table holds them."""

    state: Any
    rows: list[Kept] = field(default_factory=list)
    stored: Mark | None = None

    def epoch(self) -> Kept | None:
        row = keep(self.state, self.stored)
        if row is not None:
            self.rows.append(row)
            self.stored = mark(self.state, [row], self.stored)
        return row

    @property
    def living(self) -> list[Kept]:
        """The rows that a restore needs."""
        return self.rows[max(at for at, row in enumerate(self.rows) if row.form == "base") :]


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
            lambda: state.parts.pop(0) if state.parts and rng.random() < 0.3 else None,
            lambda: state.parts[0].sums.add("p", 1) if state.parts else None,
            lambda: state.parts[-1].cells.__setitem__(rng.randrange(40), 7) if state.parts else None,
            lambda: state.grid.__setitem__((-1, rng.randrange(30)), rng.choice([1, -(2**63), 2**63 - 1])),
            lambda: setattr(state, "grid", np.zeros((rng.randint(1, 8), 30), np.int64)),
            lambda: state.bits.__setitem__(rng.randrange(64), rng.choice([0, 1 << 63, 2**64 - 1])),
            lambda: state.reals.__setitem__(rng.randrange(50), rng.choice([-0.0, 0.1, np.inf, np.nan])),
            lambda: state.named.setdefault(name, Part()).cells.__setitem__(3, rng.randint(0, 99)),
            lambda: state.named.pop(name, None),
            lambda: state.pair[1].__setitem__(rng.randrange(30), 5),
        ]
    )()


@pytest.mark.parametrize("seed", range(20))
def test_the_rows_of_any_life_restore_the_state_at_every_epoch(seed: int) -> None:
    rng = Random(seed)
    life = Life(Remembered())
    for _ in range(30):
        for _ in range(rng.choice([0, 0, 1, 2, 8])):
            live(life.state, rng)
        life.epoch()
        back = restore(Remembered, life.rows)
        assert encode(back) == encode(life.state)
        assert encode(restore(Remembered, life.living)) == encode(life.state)
        assert mark(back, life.rows) == life.stored, (
            "a restored state counts its changes from where the stored one does"
        )
    assert {row.form for row in life.rows} == {"base", "change"}


@pytest.mark.parametrize("seed", range(10))
def test_a_node_that_is_restored_before_every_epoch_stores_the_same_rows_as_one_that_lives_on(seed: int) -> None:
    lives = [Life(Remembered()), Life(Remembered())]
    rngs = [Random(seed), Random(seed)]
    for epoch in range(30):
        for life, rng in zip(lives, rngs, strict=True):
            if epoch and life is lives[1]:
                life.state = restore(Remembered, life.living)
                life.stored = mark(life.state, life.living)
            for _ in range(rng.choice([0, 1, 4])):
                live(life.state, rng)
            life.epoch()
    assert lives[0].rows == lives[1].rows


def test_a_row_is_kept_at_first_and_then_only_where_something_changed() -> None:
    life = Life(Remembered())
    first = life.epoch()
    assert first is not None
    assert first.form == "base"
    assert life.epoch() is None
    life.state.sums.add("a", 1)
    changed = life.epoch()
    assert changed is not None
    assert changed.form == "change"
    assert life.epoch() is None


def a_step_on(change: Callable[[Any], None], state: Any) -> Kept:
    life = Life(state)
    life.epoch()
    change(life.state)
    row = life.epoch()
    assert row is not None
    assert encode(restore(type(state), life.rows)) == encode(life.state)
    return row


def test_a_change_is_as_large_as_what_changed_not_as_what_is_known() -> None:
    small = Remembered(sums=Tally([("item 7", 7), *((f"x{number}", 1) for number in range(20))]))
    large = Remembered(sums=Tally((f"item {number}", number) for number in range(10_000)))
    sizes = [len(a_step_on(lambda state: state.sums.add("item 7", 1), state).payload) for state in (small, large)]
    assert sizes[0] == sizes[1] < 400 < len(encode(large)) / 100


@pytest.mark.parametrize("seed", range(5))
def test_an_array_is_stored_as_what_changed_in_it_also_inside_another_image(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sketch = CountMin.for_error(0.001, 0.01)
    sketch.update(rng.integers(0, 10_000, 50_000))
    whole = len(encode(sketch))
    row = a_step_on(lambda state: state.sketch.update(rng.integers(0, 10_000, 20)), Sketch(sketch))
    assert row.form == "change"
    assert len(row.payload) < whole / 20


def test_a_difference_that_is_not_shorter_than_the_array_is_not_taken() -> None:
    rng = np.random.default_rng(1)

    def scramble(state: Part) -> None:
        state.cells[:] = rng.integers(-(2**62), 2**62, 40)

    row = a_step_on(scramble, Part())
    assert row.form == "base"


def test_a_state_whose_tallies_were_all_forgotten_is_a_base_again() -> None:
    life = Life(Remembered(sums=Tally([("a", 1)]), gaps=Tally((f"gap {number}", 1) for number in range(200))))
    life.epoch()
    life.state.sums.clear()
    one = life.epoch()
    life.state.gaps.clear()
    both = life.epoch()
    assert one is not None
    assert both is not None
    assert (one.form, both.form) == ("change", "base"), "so little is left that reading the old base would not pay"
    assert encode(restore(Remembered, [both])) == encode(life.state)


def test_a_state_without_tallies_and_arrays_is_always_a_whole_image() -> None:
    row = a_step_on(lambda state: setattr(state, "number", 4), Plain(3))
    assert row.form == "base"
    assert restore(Plain, [row]) == Plain(4)


def grow(life: Life, epoch: int, rng: Random) -> None:
    for _ in range(20):
        life.state.sums.add(f"item {rng.randrange(20 * (epoch + 1))}", 1)


def slide(life: Life, epoch: int, rng: Random) -> None:
    for number in range(20):
        life.state.sums.set(f"item {epoch} {number}", rng.randrange(1000))
        life.state.sums.drop(f"item {epoch - 10} {number}")


def shrink(life: Life, epoch: int, rng: Random) -> None:
    if not epoch:
        life.state.sums.set_all([f"item {number}" for number in range(3000)], [1] * 3000)
    for name in list(life.state.sums)[:20]:
        life.state.sums.drop(name)


def count(life: Life, epoch: int, rng: Random) -> None:
    for _ in range(rng.randrange(40)):
        life.state.grid[rng.randrange(8), rng.randrange(30)] += rng.randrange(1000)


@pytest.mark.parametrize("scenario", [grow, slide, shrink, count])
def test_folding_bounds_what_is_read_by_the_base_and_what_is_stored_by_the_changes(scenario: Any) -> None:
    rng, life, alone, first = Random(1), Life(Remembered()), 0, 0
    for epoch in range(150):
        scenario(life, epoch, rng)
        if life.stored is not None:
            unfolded = keep(life.state, Mark(life.stored.body, base=10**9))
            alone += len(unfolded.payload) if unfolded else 0
        life.epoch()
        first = first or len(life.rows[0].payload)
        assert sum(len(row.payload) for row in life.living) <= 2 * len(life.living[0].payload)
    assert sum(row.form == "base" for row in life.rows) > 1
    assert sum(len(row.payload) for row in life.rows) <= 3 * alone + first


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
    row = a_step_on(lambda state: state.sums.add("b", 1), Remembered(sums=Tally([("a", 1)])))
    with pytest.raises(CodecError, match="base before it is missing"):
        restore(Remembered, [row])


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:8] + b"\xff" + b[9:]])
def test_a_damaged_row_is_refused(damage: Any) -> None:
    with pytest.raises(CodecError):
        restore(Remembered, [Kept("base", damage(encode(Remembered(period=2))))])


def test_a_forged_change_with_a_right_checksum_gives_a_state_or_a_refusal() -> None:
    rng = Random(7)
    life = Life(Remembered(parts=[Part()]))
    life.epoch()
    life.state.grid[2, 5:9], life.state.bits[3], life.state.reals[7], life.state.parts[0].cells[:5] = 9, 1, 0.5, 3
    life.state.sums.add("a", 1)
    row = life.epoch()
    assert row is not None
    assert row.form == "change"
    restored = 0
    for _ in range(3000):
        body = bytearray(row.payload[6:])
        for _ in range(rng.randint(1, 3)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        header = row.payload[:2]
        frame = header + zlib.crc32(bytes(body), zlib.crc32(header)).to_bytes(4, "little") + bytes(body)
        try:
            state = restore(Remembered, [life.rows[0], Kept("change", frame)])
        except CodecError:
            continue
        restored += 1
        assert encode(decode(encode(state), Remembered)) == encode(state)
    assert restored


def test_a_difference_to_an_array_of_another_shape_is_refused() -> None:
    row = a_step_on(lambda state: state.cells.__setitem__(3, 1), Part())
    other = Kept("base", encode(Part(cells=np.zeros(41, np.int64))))
    with pytest.raises(CodecError, match=r"Part\.cells: not a difference to the array of the row before"):
        restore(Part, [other, row])


def test_a_change_read_alone_shows_what_changed() -> None:
    row = a_step_on(lambda state: state.cells.__setitem__(3, 11), Part(cells=np.full(40, 5)))
    assert np.flatnonzero(decode(row.payload, Part).cells).tolist() == [3]
    assert decode(row.payload, Part).cells[3] == 6


def test_a_large_state_is_restored_changed_and_kept_in_columns() -> None:
    names = [f"item {number:05}" for number in range(2 * MANY)]
    life = Life(Remembered(sums=Tally(zip(names, range(2 * MANY), strict=True))))
    life.epoch()
    again = Life(restore(Remembered, life.rows), list(life.rows))
    again.stored = mark(again.state, again.rows)
    for one in (life, again):
        one.state.sums.add_all(Names(names[::2]), np.arange(MANY))
        one.state.sums.drop_all(names[:9])
        one.epoch()
    assert again.state.sums._columns is not None
    assert again.rows == life.rows
    assert [row.form for row in again.rows] == ["base", "change"]


def test_a_row_of_another_class_is_refused() -> None:
    with pytest.raises(CodecError, match="none of Remembered"):
        restore(Remembered, [Kept("base", encode(Plain()))])
