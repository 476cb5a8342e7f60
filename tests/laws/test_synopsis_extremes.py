"""Numbers at and around the edges of 32 and 64 bits, and images with forged fields: for every synopsis found.

Whatever comes in is counted exactly, or within the bound, or refused before anything changes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest

from monitoring_lib.arrays import ARRAY, pack_array, unpack_array
from monitoring_lib.codec import decode
from monitoring_lib.errors import CodecError
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.synopses.dyadic import DyadicEcm
from monitoring_lib.synopses.dyadic_distinct import DyadicDistinct
from monitoring_lib.whole import big_of, with_big
from tests.laws.examples import Example, examples
from tests.laws.extremes import EDGES, Truth, answers, forms, most, mutations, offer
from tests.laws.test_synopsis_laws import HEADER, fed, reframed

every = pytest.mark.parametrize(
    "example",
    [example for example in examples() if not isinstance(example.empty(), Counts)],
    ids=lambda example: example.name,
)


def refusal(attempt: Callable[[], object]) -> str | None:
    """Why an attempt is refused, or None if it is not."""
    try:
        attempt()
    except ValueError as error:
        return str(error)
    return None


def offered(synopsis: Any, truth: Truth, item: Any, weight: Any, tick: Any) -> bool:
    """Whether an event was taken in; if not, it must have been refused by name and changed nothing."""
    before = synopsis.to_bytes()
    reason = refusal(lambda: offer(synopsis, item, weight, tick))
    if reason is not None:
        assert reason.split(":")[0] in ("items", "weights", "ticks"), reason
        assert synopsis.to_bytes() == before
        return False
    truth.take(int(item[0]), int(weight[0]))
    assert decode(synopsis.to_bytes(), type(synopsis)).to_bytes() == synopsis.to_bytes()
    return True


@every
def test_weights_at_every_edge_are_counted_or_refused(example: Example) -> None:
    for weight in [-1, *EDGES]:
        for form in forms(weight):
            synopsis, truth = example.empty(), Truth()
            taken = offered(synopsis, truth, [1], form, [1])
            assert not (taken and not 0 <= weight < 2**63)
            assert taken or not 0 <= weight <= 2**60
            assert not truth.broken(synopsis)


@every
def test_weights_that_add_up_beyond_every_edge_are_counted_or_refused(example: Example) -> None:
    for weight in EDGES[3:]:
        synopsis, truth = example.empty(), Truth()
        for number in range(6):
            offered(synopsis, truth, [number % 3], [weight], [1])
            assert not truth.broken(synopsis)


@every
def test_merges_that_add_up_beyond_every_edge_are_counted_or_refused(example: Example) -> None:
    if not example.merges:
        pytest.skip("it is not merged, or only with coins of its own")
    for weight in EDGES[3:]:
        parts, truth = [], Truth()
        for _ in range(4):
            parts.append(example.empty())
            offered(parts[-1], truth, [1], [weight], [1])
        reason = refusal(partial(type(parts[0]).merge_all, parts))
        if reason is not None:
            assert reason.startswith("parts: the sum of all counts would be")
            continue
        merged = type(parts[0]).merge_all(parts)
        assert not truth.broken(merged)
        assert decode(merged.to_bytes(), type(merged)).to_bytes() == merged.to_bytes()


@every
def test_ticks_at_every_edge_are_kept_or_refused(example: Example) -> None:
    if not hasattr(example.empty(), "window") and not isinstance(example.empty(), DyadicEcm):
        pytest.skip("it has no ticks")
    for tick in [*EDGES, *(-edge for edge in EDGES)]:
        for form in forms(tick):
            synopsis, truth = example.empty(), Truth()
            for _ in range(3):
                offered(synopsis, truth, [1], [2], form)
            assert not truth.broken(synopsis)


@every
def test_items_at_every_edge_keep_their_names_or_are_refused(example: Example) -> None:
    """Both signs: 2^64 - 1 and -1 are the same 64 bits, and must not become one item."""
    synopsis, truth = example.empty(), Truth()
    bounded = isinstance(synopsis, DyadicEcm | DyadicDistinct)
    for item in [*EDGES, *(-edge for edge in EDGES)]:
        for form in forms(item):
            taken = offered(synopsis, truth, form, [1], [1])
            assert taken == (-(2**63) <= item < 2**63) or bounded or not _names_items(synopsis)
            assert not truth.broken(synopsis)
    for item, _ in synopsis if hasattr(synopsis, "__iter__") else ():
        assert item in truth.counts()


@every
def test_two_numbers_that_need_different_words_are_not_rounded(example: Example) -> None:
    """NumPy makes floats of a list that holds 1 and 2^63."""
    synopsis = example.empty()
    for pair in ([1, 2**63], [-1, 2**63], [1, 2**64]):
        if _names_items(synopsis):
            with pytest.raises(ValueError, match=rf"^items: {pair[1]} is not within|^items: -1"):
                offer(synopsis, pair, [1, 1], [1, 1])
    assert synopsis.to_bytes() == example.empty().to_bytes()


def _names_items(synopsis: Any) -> bool:
    return not hasattr(synopsis, "buckets") and "items" in type(synopsis).update.__code__.co_varnames


@every
def test_an_image_with_a_forged_field_is_refused_or_answers_with_sense(example: Example) -> None:
    synopsis, rng = fed(example, 1), np.random.default_rng(11)
    frame = synopsis.to_bytes()
    plain = msgspec.msgpack.Decoder(ext_hook=_unpacked).decode(frame[HEADER:])
    tried = refused = 0
    for changed in mutations(plain, rng):
        body = msgspec.msgpack.encode(with_big(_packed(changed)))
        tried += 1
        try:
            forged = decode(reframed(frame, body), type(synopsis))
        except CodecError:
            refused += 1
            continue
        for estimate, bound in answers(forged):
            assert not math.isnan(estimate)
            assert 0 <= estimate <= most(forged)
            assert 0 <= bound.low <= bound.high
    assert tried >= 10
    assert refused >= 1


def _unpacked(code: int, data: memoryview) -> Any:
    """Arrays and large numbers as such, so that they can be changed."""
    plain = msgspec.msgpack.Ext(code, bytes(data))
    if code != ARRAY:
        return big_of(plain)
    for wide in ("<i8", "<u8", "<f8"):
        with contextlib.suppress(CodecError):
            return unpack_array(plain, wide, "forged")
    raise AssertionError("an array of no known kind")


def _packed(value: Any) -> Any:
    if isinstance(value, list):
        return [_packed(item) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    return pack_array(value, value.dtype.newbyteorder("<").str, "forged")
