"""A tally against a plain dict, and its changes against the whole."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitoring_lib import names as names_module
from monitoring_lib import tally as tally_module
from monitoring_lib import tally_columns as columns_module
from monitoring_lib.errors import CodecError
from monitoring_lib.names import Names
from monitoring_lib.tally import Tally
from monitoring_lib.whole import with_big

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


def bytes_of(tally: Tally, changes_only: bool) -> bytes:
    return msgspec.msgpack.encode(with_big(tally.pack(changes_only)))


def crossed(tally: Tally, changes_only: bool) -> Tally:
    """The tally as its image gives it back."""
    return Tally.unpack(msgspec.Raw(bytes_of(tally, changes_only)), "here")


@pytest.fixture
def in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the names, they are held in columns whenever they can be."""
    for module in (columns_module, names_module, tally_module):
        monkeypatch.setattr(module, "MANY", 1)


@given(steps)
def test_a_tally_does_what_a_dict_with_zeros_does(steps: list[tuple[str, str, int]]) -> None:
    tally, plain = Tally(), {}
    for step in steps:
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
    for steps in epochs:
        for step in steps:
            act(tally, step)
        copy.apply(crossed(tally, changes_only=True))
        assert copy == tally
        assert crossed(tally, changes_only=False) == tally
        tally.mark()
        assert tally.pack(True) == [False, [], [], []]
        assert not tally.changed


@given(steps, st.randoms())
def test_equal_content_packs_equally_whatever_the_order(steps: list[Any], random: Any) -> None:
    tally = Tally()
    for step in steps:
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


@pytest.mark.parametrize("in_columns", [False, True])
def test_setting_the_number_that_stands_there_is_no_change(in_columns: bool) -> None:
    tally = Tally([("a", 1), ("b", 0)])
    if in_columns:
        tally = crossed(tally, changes_only=False)
    tally.mark()
    tally.set("a", 1)
    tally.set("b", 0)
    assert not tally.changed
    tally.set("c", 0)
    assert tally.pack(True) == [False, ["c"], [0], []]


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
        Tally.unpack(msgspec.Raw(msgspec.msgpack.encode(plain)), "State.sums")


@given(st.binary(max_size=60))
def test_unpacking_any_bytes_gives_a_tally_or_a_codec_error(data: bytes) -> None:
    try:
        tally = Tally.unpack(msgspec.Raw(b"\x94" + data), "here")
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


class Twins:
    """A tally in columns and a dict that are told the same; the one starts from an image."""

    def __init__(self, start: dict[str, int]) -> None:
        self.plain, self.columns = Tally(start.items()), crossed(Tally(start.items()), changes_only=False)
        self.mark()

    def mark(self) -> None:
        self.plain.mark()
        self.columns.mark()

    def both(self, what: str, *arguments: Any) -> None:
        assert getattr(self.columns, what)(*arguments) == getattr(self.plain, what)(*arguments)

    def agree(self) -> None:
        assert bytes_of(self.columns, True) == bytes_of(self.plain, True)
        assert bytes_of(self.columns, False) == bytes_of(self.plain, False)
        assert self.columns == self.plain
        assert len(self.columns) == len(self.plain)
        assert sorted(self.columns) == sorted(self.plain)
        assert sorted(self.columns.values()) == sorted(self.plain.values())
        assert self.columns.changed == self.plain.changed


words = st.text("ab\u00fc\U0001f40e\0", max_size=3)
small = st.integers(-3, 3)
large = small | st.sampled_from([2**62, -(2**62), 2**63 - 1, -(2**63), 2**63, 2**70])
acts = st.one_of(
    st.tuples(st.sampled_from(["set", "add"]), words, large),
    st.tuples(st.sampled_from(["drop", "get", "__contains__"]), words),
    st.tuples(st.sampled_from(["set_all", "add_all"]), st.dictionaries(words, large)),
    st.tuples(st.just("add_columns"), st.dictionaries(words, small)),
    st.tuples(st.sampled_from(["drop_all", "get_all"]), st.lists(words)),
    st.tuples(st.sampled_from(["mark", "clear"])),
)


@pytest.mark.usefixtures("in_columns")
@pytest.mark.parametrize("patience", [0, 50, 10**9])
def test_in_columns_a_tally_does_what_it_does_as_a_dict(patience: int) -> None:
    @settings(deadline=None, max_examples=150)
    @given(st.dictionaries(words, small, max_size=8), st.lists(acts, max_size=10))
    def check(start: dict[str, int], steps: list[Any]) -> None:
        twins = Twins(start)
        twins.columns._patience = patience
        for what, *arguments in steps:
            if what == "mark":
                twins.mark()
            elif what == "add_columns":
                pairs = sorted(arguments[0].items())
                added = Names(name for name, _ in pairs), np.array([number for _, number in pairs], np.int64)
                twins.columns.add_all(*added)
                for name, number in pairs:
                    twins.plain.add(name, number)
            elif what in ("set_all", "add_all"):
                twins.both(what, list(arguments[0]), list(arguments[0].values()))
            else:
                twins.both(what, *arguments)
            twins.agree()

    check()


@pytest.mark.usefixtures("in_columns")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(acts.filter(lambda act: act[0] != "add_columns"), max_size=6), min_size=1, max_size=5))
def test_changes_in_columns_applied_in_turn_give_the_tally_back(epochs: list[list[Any]]) -> None:
    tally, copy = Tally(), Tally()
    for steps in epochs:
        for what, *arguments in steps:
            mapped = [list(arguments[0]), list(arguments[0].values())] if what in ("set_all", "add_all") else arguments
            if what != "mark":
                getattr(tally, what)(*mapped)
        copy.apply(crossed(tally, changes_only=True))
        assert copy == tally
        tally.mark()


@pytest.mark.usefixtures("in_columns")
def test_a_large_image_is_read_added_to_and_written_without_an_object_a_name() -> None:
    names = [f"item {number:05}" for number in range(10_000)]
    whole = crossed(Tally(zip(names, range(10_000), strict=True)), changes_only=False)
    whole.mark()
    whole.add_all(Names([*names[5000:], "new"]), np.full(5001, 7, np.int64))
    assert whole._columns is not None
    expected = Tally(zip(names, range(10_000), strict=True))
    expected.mark()
    for name in [*names[5000:], "new"]:
        expected.add(name, 7)
    assert bytes_of(whole, True) == bytes_of(expected, True)
    assert bytes_of(whole, False) == bytes_of(expected, False)
    assert whole._columns is not None


@pytest.mark.usefixtures("in_columns")
def test_sums_beyond_64_bits_are_exact_whatever_the_form() -> None:
    names = Names(f"item {number:05}" for number in range(5_000))
    tally = Tally()
    for _ in range(3):
        tally.add_all(names, np.full(5_000, 2**62, np.int64))
    assert set(tally.values()) == {3 * 2**62}
    assert set(crossed(tally, changes_only=False).values()) == {3 * 2**62}


@pytest.mark.usefixtures("in_columns")
def test_names_in_no_order_or_twice_in_an_image_are_read_as_ever() -> None:
    shuffled = [f"item {number:05}" for number in range(5_000, 0, -1)]
    raw = msgspec.msgpack.encode([True, [*shuffled, "item 00007"], [*range(5_000), 3], []])
    tally = Tally.unpack(msgspec.Raw(raw), "here")
    assert (len(tally), tally.get("item 00007"), tally.get("item 05000")) == (5_000, 3, 0)


@pytest.mark.usefixtures("in_columns")
def test_work_on_single_names_turns_columns_into_a_dict_at_last() -> None:
    names = [f"item {number:05}" for number in range(5_000)]
    tally = crossed(Tally(zip(names, range(5_000), strict=True)), changes_only=False)
    assert tally.get(names[17]) == 17
    assert tally._columns is not None
    assert [tally.get(name) for name in names] == list(range(5_000))
    assert tally._columns is None


@pytest.mark.usefixtures("in_columns")
@pytest.mark.parametrize("limit", [0, 2, 7.5, 2**63, 2**80])
def test_names_far_from_zero_are_found_whatever_the_form(limit: float) -> None:
    pairs = [(f"item {number:02}", number) for number in range(-9, 10)]
    wanted = ["nowhere", *(name for name, _ in pairs[3:])]
    expected = [name for name, number in pairs[3:] if abs(number) > limit]
    for tally in (Tally(pairs), crossed(Tally(pairs), changes_only=False)):
        assert tally.beyond(Names(wanted), limit) == tally.beyond(wanted, limit) == expected
        assert tally.beyond(set(wanted), 100) == []


@pytest.mark.parametrize("name", [7, b"a", ("a", 1), None])
def test_a_name_that_could_not_be_read_again_is_not_written(name: Any) -> None:
    with pytest.raises(TypeError, match=r"State\.sums: a tally holds numbers by strings"):
        Tally([(name, 1)]).pack(False, "State.sums")


@pytest.mark.parametrize("number", [True, "1", None, np.int64(1)])
def test_a_number_that_could_not_be_read_again_is_not_written(number: Any) -> None:
    with pytest.raises(TypeError, match=r"State\.sums: a tally holds numbers by strings"):
        Tally([("a", number)]).pack(False, "State.sums")
