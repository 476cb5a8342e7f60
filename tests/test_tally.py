"""A tally against a plain dict, and its changes against the whole."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring_lib.errors import CodecError
from monitoring_lib.tally import Tally

names = st.sampled_from(["", "a", "b", "Ü", "@", "x" * 50])
numbers = st.integers(-(2**70), 2**70) | st.integers(-2, 2)
steps = st.lists(
    st.tuples(st.sampled_from(["add", "set", "drop"]), names, numbers) | st.tuples(st.just("clear"), names, numbers),
    max_size=12,
)


def act(tally: Tally, step: tuple[str, str, int]) -> None:
    what, name, number = step
    if what == "clear":
        tally.clear()
    elif what == "drop":
        tally.drop(name)
    else:
        getattr(tally, what)(name, number)


def crossed(tally: Tally, changes_only: bool) -> Tally:
    """The tally as its image gives it back."""
    plain = tally.pack(changes_only)
    return Tally.unpack([plain[0], [list(n) if isinstance(n, tuple) else n for n in plain[1]], *plain[2:]], "here")


@given(steps)
def test_a_tally_does_what_a_dict_with_zeros_does(story: list[tuple[str, str, int]]) -> None:
    tally, plain = Tally(), {}
    for step in story:
        act(tally, step)
        what, name, number = step
        if what == "clear":
            plain = {}
        elif what == "drop":
            plain.pop(name, None)
        else:
            plain[name] = number + (plain.get(name, 0) if what == "add" else 0)
    assert dict(tally.items()) == plain
    assert set(tally) == set(plain)
    assert len(tally) == len(plain)
    assert all(tally.get(name) == plain.get(name, 0) and (name in tally) == (name in plain) for name in ("", "a", "zz"))


@given(st.lists(steps, min_size=1, max_size=6))
def test_the_changes_of_each_epoch_applied_in_turn_give_the_tally_back(epochs: list[list[Any]]) -> None:
    tally, copy = Tally(), Tally()
    for story in epochs:
        for step in story:
            act(tally, step)
        copy.apply(crossed(tally, changes_only=True))
        assert copy == tally
        assert crossed(tally, changes_only=False) == tally
        tally.mark()
        assert tally.pack(True) == [False, [], [], []]
        assert not tally.changed


@given(steps, st.randoms())
def test_equal_content_packs_equally_whatever_the_order(story: list[Any], random: Any) -> None:
    tally = Tally()
    for step in story:
        act(tally, step)
    pairs = list(tally.items())
    random.shuffle(pairs)
    assert Tally(pairs).pack(False) == tally.pack(False)


def test_changes_hold_only_what_was_touched_and_name_what_was_dropped() -> None:
    tally = Tally([("a", 1), ("b", 2), ("c", 3)])
    tally.mark()
    assert tally.add("b", 5) == 7
    tally.drop("c")
    tally.drop("never there")
    assert tally.changed
    assert tally.pack(True) == [False, ["b"], [7], ["c"]]
    copy = Tally([("a", 1), ("b", 2), ("c", 3)])
    copy.apply(crossed(tally, changes_only=True))
    assert copy == tally == Tally([("a", 1), ("b", 7)])
    assert tally.pack(False) == [True, ["a", "b"], [1, 7], []]


def test_after_clear_the_changes_are_the_whole() -> None:
    tally = Tally([("a", 1)])
    tally.mark()
    tally.clear()
    tally.set("b", 2)
    assert tally.pack(True) == [True, ["b"], [2], []]


def test_applied_changes_come_in_the_order_of_the_image_not_of_a_set() -> None:
    later = Tally((str(number), number) for number in range(100, 0, -1))
    copy = Tally()
    copy.apply(crossed(later, changes_only=True))
    assert list(copy) == sorted(map(str, range(1, 101)))


def test_names_may_have_several_parts() -> None:
    tally = Tally([(("site", "item"), 4)])
    assert tally.get(("site", "item")) == 4
    assert crossed(tally, False) == tally
    assert list(crossed(tally, False)) == [("site", "item")]


def test_a_tally_that_changes_cannot_be_a_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Tally())
    assert Tally() != {}
    assert repr(Tally([("a", 1)])) == "Tally({'a': 1})"


@pytest.mark.parametrize(
    "plain",
    [
        None, 7, "abcd", b"abcd", [], [True, ["a"], [1]], [True, ["a"], [1, 2], []], [1, ["a"], [1], []],
        [True, [1], [1], []], [True, ["a"], ["1"], []], [True, ["a"], [True], []], [True, ["a"], [None], []],
        [True, [["a", 1]], [1], []], [True, [{}], [1], []], [True, 5, [1], []], [True, ["a"], [1], [5]],
        [False, [], [], None], [None, [], [], []], [True, ["a"], [[1]], []], {"a": 1, "b": 2, "c": 3, "d": 4},
    ],
)  # fmt: skip
def test_what_is_no_tally_is_refused_by_name(plain: Any) -> None:
    with pytest.raises(CodecError, match=r"State\.sums: not a tally"):
        Tally.unpack(plain, "State.sums")


@given(st.binary(max_size=60))
def test_unpacking_anything_msgpack_can_say_gives_a_tally_or_a_codec_error(data: bytes) -> None:
    try:
        plain = msgpack.unpackb(b"\x94" + data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException):  # not msgpack at all
        return
    try:
        tally = Tally.unpack(plain, "here")
    except CodecError:
        return
    assert all(type(number) in (int, float) for _, number in tally.items())


@given(st.lists(st.tuples(names, numbers), max_size=12))
def test_adding_many_at_once_is_adding_one_by_one(pairs: list[tuple[str, int]]) -> None:
    singly, at_once = Tally([("a", 1)]), Tally([("a", 1)])
    singly.mark()
    at_once.mark()
    for name, number in pairs:
        singly.add(name, number)
    at_once.add_all([name for name, _ in pairs], [number for _, number in pairs])
    assert at_once.pack(True) == singly.pack(True)
    assert list(at_once.values()) == [number for _, number in at_once.items()]


def test_many_at_once_is_the_same_as_one_by_one() -> None:
    one, other = Tally([("a", 1), ("b", 2)]), Tally([("a", 1), ("b", 2)])
    one.mark()
    other.mark()
    one.set_all(["b", "c"], [5, 6])
    for name, number in (("b", 5), ("c", 6)):
        other.set(name, number)
    one.drop_all(["a", "nowhere"])
    for name in ("a", "nowhere"):
        other.drop(name)
    assert one == other
    assert one.pack(changes_only=True) == other.pack(changes_only=True)
    assert one.get_all(["c", "a", "b"]) == [6, 0, 5]
    assert one.keys() == {"b", "c"}
