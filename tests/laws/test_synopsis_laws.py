"""What holds for every synopsis in monitoring_lib.synopses, found by itself and fed by
tests.laws.examples."""

from __future__ import annotations

import importlib
import json
import pkgutil
import zlib
from contextlib import suppress
from functools import cache

import numpy as np
import pytest

from monitoring_lib import synopses
from monitoring_lib.codec import decode, encode, readable
from monitoring_lib.errors import CodecError
from monitoring_lib.synopses.base import Synopsis
from tests.golden import golden_file, golden_synopsis
from tests.laws.examples import Example, examples, kind_of

HEADER = 6

every = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
mergeable = pytest.mark.parametrize(
    "example", [example for example in examples() if example.merges], ids=lambda example: example.name
)
joinable = pytest.mark.parametrize(
    "example",
    [example for example in examples() if example.merges or example.of_site],
    ids=lambda example: example.name,
)


@cache
def synopsis_classes() -> tuple[type[Synopsis], ...]:
    for module in pkgutil.iter_modules(synopses.__path__):
        importlib.import_module(f"{synopses.__name__}.{module.name}")
    # A slotted dataclass leaves its first, slotless making behind as a subclass: the module's name decides.
    found, waiting = {}, [Synopsis]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            module = importlib.import_module(kind.__module__)
            if kind.__module__.startswith(synopses.__name__) and hasattr(kind, "TAG"):
                found[kind.__qualname__] = getattr(module, kind.__qualname__)
    return tuple(found.values())


def fed(example: Example, *seeds: int) -> Synopsis:
    """A synopsis fed with one batch for each seed, in turn."""
    synopsis = example.empty()
    for seed in seeds:
        example.feed(synopsis, np.random.default_rng(seed))
    return synopsis


def parts_of(example: Example, amount: int) -> list[Synopsis]:
    """The synopses of so many sites, each with a batch of its own."""
    parts = [example.of_site(site) if example.of_site else example.empty() for site in range(1, amount + 1)]
    for site, part in enumerate(parts, 1):
        example.feed(part, np.random.default_rng(site))
    return parts


def reframed(frame: bytes, body: bytes) -> bytes:
    """A frame with another body and the checksum that goes with it, as only a forger would make it."""
    return frame[:2] + zlib.crc32(body, zlib.crc32(frame[:2])).to_bytes(4, "little") + body


def test_every_synopsis_has_an_example() -> None:
    without = {kind.__name__ for kind in synopsis_classes()} - {kind_of(e).__name__ for e in examples()}
    assert not without, f"add a module to tests/laws/examples for {sorted(without)}"


def test_no_two_synopses_share_a_tag() -> None:
    tags = [kind.TAG for kind in synopsis_classes()]
    assert len(tags) == len(set(tags))


@every
def test_an_image_comes_back_as_it_was(example: Example) -> None:
    for synopsis in (example.empty(), fed(example, 1), fed(example, 1, 2)):
        frame = synopsis.to_bytes()
        restored = decode(frame, type(synopsis))
        assert encode(restored) == frame
        assert example.same(restored, synopsis)


@every
def test_equal_data_gives_equal_images(example: Example) -> None:
    assert fed(example, 1, 2).to_bytes() == fed(example, 1, 2).to_bytes()


@every
def test_an_image_is_readable_by_people(example: Example) -> None:
    assert json.loads(json.dumps(readable(fed(example, 1))))


@every
def test_the_size_is_that_of_the_image_and_bounded(example: Example) -> None:
    synopsis = fed(example, 1, 2, 3)
    assert synopsis.size == len(synopsis.to_bytes()) <= example.largest


@every
def test_a_restored_synopsis_goes_on_as_the_one_in_memory(example: Example) -> None:
    synopsis = fed(example, 1)
    restored = decode(synopsis.to_bytes(), type(synopsis))
    for each in (synopsis, restored):
        example.feed(each, np.random.default_rng(2))
    assert example.same(restored, synopsis)


@every
def test_a_truncated_image_is_refused(example: Example) -> None:
    synopsis = fed(example, 1)
    frame = synopsis.to_bytes()
    for length in np.unique(np.linspace(0, len(frame) - 1, 50).astype(int)):
        with pytest.raises(CodecError):
            decode(frame[:length], type(synopsis))


@every
def test_a_flipped_bit_is_refused(example: Example) -> None:
    synopsis = fed(example, 1)
    frame = synopsis.to_bytes()
    rng = np.random.default_rng(5)
    for at in [*range(8 * HEADER), *rng.integers(0, 8 * len(frame), 100)]:
        bad = bytearray(frame)
        bad[at // 8] ^= 1 << (at % 8)
        with pytest.raises(CodecError):
            decode(bytes(bad), type(synopsis))


@every
def test_random_bytes_are_refused(example: Example) -> None:
    kind, rng = kind_of(example), np.random.default_rng(6)
    for length in rng.integers(0, 400, 50):
        with pytest.raises(CodecError):
            decode(rng.bytes(length), kind)


@every
def test_a_forged_image_is_refused_or_can_be_used(example: Example) -> None:
    """Bytes changed and the checksum made to fit: the class itself has to see what it cannot be."""
    synopsis, rng = fed(example, 1), np.random.default_rng(7)
    frame = synopsis.to_bytes()
    for _ in range(200):
        body = bytearray(frame[HEADER:])
        near = rng.integers(0, min(len(body), 64)) if rng.random() < 0.5 else rng.integers(0, len(body))
        body[near] = rng.integers(0, 256)
        if rng.random() < 0.2:
            del body[rng.integers(0, len(body)) :]
        try:
            forged = decode(reframed(frame, bytes(body)), type(synopsis))
        except CodecError:
            continue
        with suppress(ValueError):  # as when its clock is ahead of what comes in
            example.feed(forged, np.random.default_rng(2))
        assert decode(forged.to_bytes(), type(synopsis)).to_bytes() == forged.to_bytes()


@every
def test_bulk_equals_one_by_one(example: Example) -> None:
    if example.feed_singly is None:
        pytest.skip("a batch is part of what it means")
    singly = example.empty()
    example.feed_singly(singly, np.random.default_rng(1))
    assert example.same(singly, fed(example, 1))


@mergeable
def test_merging_is_commutative(example: Example) -> None:
    first, second = fed(example, 1), fed(example, 2)
    assert example.same(first.merge(second), second.merge(first))


@mergeable
def test_merging_is_associative(example: Example) -> None:
    first, second, third = (fed(example, seed) for seed in (1, 2, 3))
    assert example.same(first.merge(second).merge(third), first.merge(second.merge(third)))


@mergeable
def test_merging_with_nothing_changes_nothing(example: Example) -> None:
    synopsis = fed(example, 1)
    assert example.same(synopsis.merge(example.empty()), synopsis)
    assert example.same(example.empty().merge(synopsis), synopsis)


@mergeable
def test_merging_parts_equals_the_whole(example: Example) -> None:
    if not example.merge_equals_whole:
        pytest.skip("it claims no such thing")
    assert example.same(fed(example, 1).merge(fed(example, 2)), fed(example, 1, 2))


@mergeable
def test_a_merge_leaves_its_operands_alone(example: Example) -> None:
    first, second = fed(example, 1), fed(example, 2)
    before = first.to_bytes(), second.to_bytes()
    merged = first.merge(second)
    example.feed(merged, np.random.default_rng(3))
    assert (first.to_bytes(), second.to_bytes()) == before


@mergeable
def test_restoring_then_merging_equals_merging_in_memory(example: Example) -> None:
    first, second = fed(example, 1), fed(example, 2)
    restored = [decode(each.to_bytes(), type(each)) for each in (first, second)]
    assert restored[0].merge(restored[1]).to_bytes() == first.merge(second).to_bytes()


@joinable
def test_merging_all_does_not_depend_on_the_order_of_the_parts(example: Example) -> None:
    parts = parts_of(example, 5)
    kind, rng = kind_of(example), np.random.default_rng(8)
    orders = [parts, parts[::-1], *([parts[at] for at in rng.permutation(5)] for _ in range(3))]
    assert len({kind.merge_all(order).to_bytes() for order in orders}) == 1


@joinable
def test_merging_all_of_two_is_merging_them(example: Example) -> None:
    first, second = parts_of(example, 2)
    assert kind_of(example).merge_all([first, second]).to_bytes() == first.merge(second).to_bytes()


@every
def test_one_part_comes_back_as_it_was_and_is_nobody_elses(example: Example) -> None:
    for part in (example.empty(), fed(example, 1)):
        before = part.to_bytes()
        merged = type(part).merge_all([part])
        assert merged.to_bytes() == before
        example.feed(merged, np.random.default_rng(2))
        assert part.to_bytes() == before


@joinable
def test_empty_parts_change_nothing(example: Example) -> None:
    kind, parts = kind_of(example), parts_of(example, 3)
    empty = [example.of_site(site) if example.of_site else example.empty() for site in (7, 8)]
    assert kind.merge_all([empty[0], parts[0], empty[1]]).to_bytes() == parts[0].to_bytes()
    assert kind.merge_all([*parts, *empty]).to_bytes() == kind.merge_all(parts).to_bytes()
    assert kind.merge_all(empty).to_bytes() == kind.merge_all(empty[::-1]).to_bytes()


@joinable
def test_merging_all_leaves_the_parts_alone(example: Example) -> None:
    parts = parts_of(example, 3)
    before = [part.to_bytes() for part in parts]
    example.feed(kind_of(example).merge_all(parts), np.random.default_rng(4))
    assert [part.to_bytes() for part in parts] == before


@every
def test_no_parts_and_unlike_parts_are_refused(example: Example) -> None:
    kind = kind_of(example)
    with pytest.raises(ValueError, match=r"^parts: at least one"):
        kind.merge_all([])
    for other in example.others:
        with pytest.raises(ValueError, match=r"against|cannot"):
            kind.merge_all([example.empty(), fed(example, 1), other()])


@every
def test_another_kind_or_making_is_refused(example: Example) -> None:
    class Stranger(Synopsis):
        pass

    synopsis = fed(example, 1)
    with pytest.raises(ValueError, match="cannot"):
        synopsis.merge(Stranger())
    for other in example.others:
        with pytest.raises(ValueError, match=r"against|cannot"):
            synopsis.merge(other())
    if not example.merges:
        with pytest.raises((TypeError, ValueError)):
            synopsis.merge(fed(example, 2))


@pytest.mark.parametrize("kind", synopsis_classes(), ids=lambda kind: kind.__name__)
def test_the_frozen_image_is_still_what_the_class_writes(kind: type[Synopsis]) -> None:
    """A failure means that stored images change their meaning: raise the class's version, then run
    `python -m tests.golden` and say so in the change log."""
    frozen = golden_file(kind).read_bytes()
    assert golden_synopsis(kind).to_bytes() == frozen
    assert decode(frozen, kind).to_bytes() == frozen


def test_no_frozen_image_is_left_behind() -> None:
    names = {golden_file(kind).name for kind in synopsis_classes()}
    assert names == {path.name for path in golden_file(Synopsis).parent.glob("*.bin")}
