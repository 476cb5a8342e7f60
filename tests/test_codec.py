"""Images: what goes in comes out, and nothing else comes out."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
import pytest

from monitoring_lib import codec
from monitoring_lib.codec import Floats, Image, Ints, Words, decode, encode, readable
from monitoring_lib.errors import CodecError


@dataclass(slots=True)
class Inner(Image):
    name: str
    values: Ints


@dataclass(slots=True)
class Inner2(Image, tag=202):
    values: Ints


@dataclass(slots=True)
class Everything(Image, tag=200, version=3):
    whole: int = 7
    real: float = 0.5
    text: str = "é \U0001f40e"
    yes: bool = True
    raw: bytes = b"\x00\xff"
    ints: Ints = field(default_factory=lambda: np.array([[1, -2], [3, 4]]))
    words: Words = field(default_factory=lambda: np.array([0, 2**64 - 1], np.uint64))
    floats: Floats = field(default_factory=lambda: np.array([np.inf, -0.0, 1e-300]))
    names: list[str] = field(default_factory=lambda: ["b", "a"])
    nested: list[Inner] = field(default_factory=lambda: [Inner("x", np.arange(3)), Inner("", np.arange(0))])
    pair: tuple[str, float] = ("k", 1.5)
    table: dict[str, int] = field(default_factory=lambda: {"z": 1, "a": 2})
    maybe: Inner | None = None
    derived: int = field(default=0, init=False)


@dataclass(slots=True)
class Point(Image, tag=201):
    x: int
    y: int

    def __post_init__(self) -> None:
        if self.x > self.y:
            raise ValueError(f"x: {self.x} is above y, {self.y}")


def forged(body: bytes, tag: int = 200, version: int = 3) -> bytes:
    header = bytes((tag, version))
    return header + zlib.crc32(body, zlib.crc32(header)).to_bytes(4, "little") + body


def round_trip(value: Any) -> Any:
    return decode(encode(value), type(value))


def test_every_type_of_field_comes_back() -> None:
    before = Everything(maybe=Inner("m", np.array([2**40])))
    after = round_trip(before)
    assert encode(after) == encode(before)
    for name in ("whole", "real", "text", "yes", "raw", "names", "pair", "table"):
        assert getattr(after, name) == getattr(before, name)
        assert type(getattr(after, name)) is type(getattr(before, name))
    for name in ("ints", "words", "floats"):
        assert np.array_equal(getattr(after, name), getattr(before, name))
        assert getattr(after, name).dtype == getattr(before, name).dtype
    assert after.nested[0].name == "x"
    assert after.maybe.values.tolist() == [2**40]
    assert round_trip(Everything()).maybe is None


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1, 10**40, -(10**40)])
def test_whole_numbers_of_any_size_come_back(number: int) -> None:
    assert round_trip(Everything(whole=number)).whole == number


@pytest.mark.parametrize("number", [0.0, -0.0, 1e308, 5e-324, float("inf"), 0.1])
def test_doubles_come_back_to_the_bit(number: float) -> None:
    assert round_trip(Everything(real=number)).real.hex() == number.hex()


def test_not_a_number_comes_back() -> None:
    assert np.isnan(round_trip(Everything(real=float("nan"))).real)


@pytest.mark.parametrize(
    "array",
    [
        np.empty(0, np.int64),
        np.empty((0, 3), np.int64),
        np.arange(24).reshape(2, 3, 4),
        np.arange(24).reshape(1, 2, 3, 4),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(10)[::3],
        np.array([-(2**63), 2**63 - 1]),
        np.arange(4).astype(">i8"),
    ],
)
def test_arrays_of_any_layout_come_back(array: np.ndarray) -> None:
    after = round_trip(Everything(ints=array)).ints
    assert np.array_equal(after, array)
    assert after.shape == array.shape
    after[...] = 1  # and can be written to


@pytest.mark.parametrize(("largest", "width"), [(127, 1), (128, 2), (2**15, 4), (2**31, 8)])
def test_whole_numbers_cross_in_the_narrowest_width_that_holds_them(largest: int, width: int) -> None:
    small = len(encode(Inner2(np.zeros(1000, np.int64))))
    assert len(encode(Inner2(np.full(1000, largest)))) - small == pytest.approx(1000 * (width - 1), abs=4)


def test_equal_values_give_equal_bytes_however_they_were_made() -> None:
    one = Everything(table={"z": 1, "a": 2}, whole=np.int64(7), real=np.float64(0.5))  # type: ignore[arg-type]
    two = Everything(table={"a": 2, "z": 1}, ints=np.asfortranarray(np.array([[1, -2], [3, 4]])))
    assert encode(one) == encode(two) == encode(Everything())


def test_a_whole_number_in_a_field_of_doubles_becomes_one() -> None:
    assert round_trip(Everything(real=3)).real == 3.0
    assert type(round_trip(Everything(pair=("k", 2))).pair[1]) is float


@pytest.mark.parametrize(
    "wrong",
    [
        {"whole": 1.5},
        {"whole": True},
        {"text": b"bytes"},
        {"names": ["a", 1]},
        {"pair": ("k", 1.5, 2)},
        {"maybe": Inner2(np.arange(3))},
        {"table": {"a": 1.5}},
        {"ints": [1, 2]},
        {"ints": np.zeros(3, np.int32)},
        {"ints": np.zeros(3, np.uint64)},
        {"ints": np.array(5)},
        {"ints": np.zeros((3, 0), np.int64)},
        {"ints": np.zeros((1, 1, 1, 1, 1), np.int64)},
    ],
)
def test_what_could_not_be_decoded_is_not_encoded(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"Everything.{next(iter(wrong))}"):
        encode(Everything(**wrong))


def test_a_key_beyond_64_bits_is_refused() -> None:
    @dataclass(slots=True)
    class Keyed(Image, tag=204):
        table: dict[int, int]

    assert round_trip(Keyed({2**63: 2**80, -5: 1})) == Keyed({-5: 1, 2**63: 2**80})
    with pytest.raises(TypeError, match="must fit in 64 bits"):
        encode(Keyed({2**64: 1}))


def test_every_truncation_is_refused() -> None:
    frame = encode(Everything())
    for length in range(len(frame)):
        with pytest.raises(CodecError):
            decode(frame[:length], Everything)


def test_every_flipped_bit_is_refused() -> None:
    frame = encode(Everything())
    for at in range(8 * len(frame)):
        bad = bytearray(frame)
        bad[at // 8] ^= 1 << (at % 8)
        with pytest.raises(CodecError):
            decode(bytes(bad), Everything)


def test_random_bytes_are_refused() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        with pytest.raises(CodecError):
            decode(rng.bytes(rng.integers(0, 300)), Everything)


def test_a_forged_body_is_an_image_or_refused() -> None:
    """Random bodies and random changes to a true one, each with a checksum that fits."""
    rng = np.random.default_rng(2)
    true = encode(Everything())[6:]
    images = 0
    for turn in range(4000):
        body = bytearray(rng.bytes(rng.integers(0, 60)) if turn % 4 == 0 else true)
        for _ in range(rng.integers(1, 4)):
            if body:
                body[rng.integers(0, len(body))] = rng.integers(0, 256)
        try:
            image = decode(forged(bytes(body)), Everything)
        except CodecError:
            continue
        images += 1
        assert encode(decode(encode(image), Everything)) == encode(image)
    assert images > 100


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x91" * 2000,
        msgpack.packb(5),
        msgpack.packb([1, 2]),
        msgpack.packb([{(1, 2): 3}, *[0] * 12]),
        msgpack.packb([msgpack.ExtType(2, b""), *[0] * 12]),
        msgpack.packb([msgpack.ExtType(2, b"\x00\x02\xff\xff\xff\xff1234"), *[0] * 12]),
        msgpack.packb([msgpack.ExtType(2, b"\x00\x09123456789"), *[0] * 12]),
        msgpack.packb([msgpack.ExtType(99, b"x"), *[0] * 12]),
        b"\x9d\xdd\xff\xff\xff\xff",
        b"\x9d\xa2\xff\xfe",
    ],
)
def test_a_malicious_body_is_refused(body: bytes) -> None:
    with pytest.raises(CodecError):
        decode(forged(body), Everything)


def test_what_the_class_itself_refuses_is_refused_as_an_image() -> None:
    with pytest.raises(CodecError, match="Point: x: 5 is above y, 2"):
        decode(forged(msgpack.packb([5, 2]), 201, 1), Point)


def test_another_kind_or_version_is_refused_by_name() -> None:
    with pytest.raises(CodecError, match="tag 201 is none of Everything"):
        decode(encode(Point(1, 2)), Everything)
    with pytest.raises(CodecError, match="Point of version 9; this release reads version 1"):
        decode(forged(msgpack.packb([1, 2]), 201, 9), Point)
    assert isinstance(decode(encode(Point(1, 2)), Everything, Point), Point)


def test_sizes_are_bounded_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = encode(Everything())
    monkeypatch.setattr(codec, "LARGEST_IMAGE", len(frame) - 1)
    with pytest.raises(CodecError, match="more than the limit"):
        encode(Everything())
    with pytest.raises(CodecError, match="cannot be an image"):
        decode(frame, Everything)


def test_tags_and_versions_fit_in_a_byte() -> None:
    with pytest.raises(ValueError, match="must each fit in one byte"):

        class Large(Image, tag=256):
            pass


def test_a_field_that_images_cannot_hold_is_named() -> None:
    @dataclass(slots=True)
    class Odd(Image, tag=203):
        when: complex

    with pytest.raises(TypeError, match=r"Odd\.when: images cannot hold"):
        encode(Odd(1j))


def test_people_can_read_it() -> None:
    shown = json.loads(json.dumps(readable(Everything(floats=np.array([0.5])))))
    assert shown["raw"] == "00ff"
    assert shown["nested"][0] == {"name": "x", "values": [0, 1, 2]}
    assert shown["words"] == [0, 2**64 - 1]
