"""Letters and states of every method against bytes that are random, cut short, flipped or forged."""

from __future__ import annotations

import zlib
from random import Random

import pytest

from monitoring_lib.codec import Image, decode, encode
from monitoring_lib.errors import CodecError
from monitoring_lib.methods import Method
from monitoring_lib.network import is_site
from monitoring_lib.states import Kept, restore
from tests.laws.method_driver import draw_scenario, run_scenario, subjects

every_method = pytest.mark.parametrize("kind", subjects(), ids=lambda kind: f"{kind.question.name}/{kind.name}")


def frames(kind: type[Method]) -> dict[type[Image], list[bytes]]:
    """Real images of every letter and state class of the method, those of one scenario, whole."""
    found: dict[type[Image], list[bytes]] = {letter: [] for letter in kind.letters}
    by_kind = {letter.kind(): letter for letter in kind.letters}
    for message in (message for record in run_scenario(draw_scenario(kind, seed=3)) for message in record.messages):
        found[by_kind[message.kind]].append(message.payload)
    for state, rows in chains(kind):
        found.setdefault(state, []).extend(encode(restore(state, rows[: at + 1])) for at in range(len(rows)))
    return {image: sorted(set(payloads))[:40] for image, payloads in found.items()}


def chains(kind: type[Method]) -> list[tuple[type[Image], list[Kept]]]:
    """The rows of each node's state in one scenario, in order."""
    scenario = draw_scenario(kind, seed=3)
    method, kept = scenario.method(), dict[str, list[Kept]]()
    for record in run_scenario(scenario):
        for node, row in record.rows.items():
            kept.setdefault(node, []).extend([row] if row else [])
    return [((method.site if is_site(node) else method.role(node)).State, rows) for node, rows in kept.items()]


def outcome(frame: bytes, *kinds: type[Image]) -> str:
    """Anything but an image or a CodecError escapes, and fails the test."""
    try:
        image = decode(frame, *kinds)
    except CodecError:
        return "refused"
    assert isinstance(image, kinds)
    return "image"


def sealed(tag: int, version: int, body: bytes) -> bytes:
    """A frame whose checksum is right, whatever it holds."""
    header = bytes((tag, version))
    return header + zlib.crc32(body, zlib.crc32(header)).to_bytes(4, "little") + body


@every_method
def test_real_images_come_back_byte_for_byte(kind: type[Method]) -> None:
    for image, payloads in frames(kind).items():
        assert [encode(decode(payload, image)) for payload in payloads] == payloads


@every_method
def test_changes_of_a_state_that_are_cut_short_or_have_a_flipped_bit_are_refused(kind: type[Method]) -> None:
    rng = Random(kind.name)
    for state, rows in chains(kind):
        for at in [at for at, row in enumerate(rows) if row.form == "change"][:5]:
            payload, before = rows[at].payload, rows[:at]
            flipped = bytearray(payload)
            flipped[rng.randrange(len(payload))] ^= 1 << rng.randrange(8)
            for junk in (payload[: rng.randrange(len(payload))], bytes(flipped)):
                with pytest.raises(CodecError):
                    restore(state, [*before, Kept("change", junk)])


@every_method
def test_random_bytes_are_refused(kind: type[Method]) -> None:
    rng = Random(kind.name)
    for image in frames(kind):
        for _ in range(300):
            assert outcome(rng.randbytes(rng.randrange(80)), image) == "refused"


@every_method
def test_frames_cut_short_or_with_a_flipped_bit_are_refused(kind: type[Method]) -> None:
    rng = Random(kind.name)
    for image, payloads in frames(kind).items():
        for payload in payloads[:12]:
            assert {outcome(payload[:length], image) for length in range(min(len(payload), 200))} == {"refused"}
            assert outcome(payload + b"\x00", image) == "refused"
            for bit in rng.sample(range(8 * len(payload)), min(64, 8 * len(payload))):
                flipped = bytearray(payload)
                flipped[bit // 8] ^= 1 << (bit % 8)
                assert outcome(bytes(flipped), image) == "refused"


@every_method
def test_forged_bodies_with_a_right_checksum_give_an_image_or_a_refusal(kind: type[Method]) -> None:
    rng = Random(kind.name)
    for image, payloads in frames(kind).items():
        for payload in payloads[:12]:
            body = payload[6:]
            for _ in range(200):
                changed = bytearray(body)
                for _ in range(rng.randint(1, 4)):
                    changed[rng.randrange(len(changed))] = rng.randrange(256)
                cut = rng.randrange(len(body)) if rng.random() < 0.3 else len(body)
                outcome(sealed(image.TAG, image.VERSION, bytes(changed[:cut])), image)
        for _ in range(500):
            outcome(sealed(image.TAG, image.VERSION, rng.randbytes(rng.randrange(40))), image)


@every_method
def test_another_version_or_tag_is_refused(kind: type[Method]) -> None:
    for image, payloads in frames(kind).items():
        for payload in payloads[:1]:
            assert outcome(sealed(image.TAG, image.VERSION + 1, payload[6:]), image) == "refused"
            assert outcome(sealed(image.TAG ^ 0x80, image.VERSION, payload[6:]), image) == "refused"
