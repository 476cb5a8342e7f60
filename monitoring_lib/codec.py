"""Images: how states, synopses and messages become bytes and come back.

A frame is ``tag (1) · version (1) · crc32 (4) · body``; the body is a msgpack array of the fields in their
declared order. Equal values give equal bytes, so digests of frames are digests of content. Decoding trusts
nothing: whatever the bytes are, the outcome is an image of a known class or a CodecError.

An image is a dataclass that derives from Image and says its tag and version::

    @dataclass(slots=True)
    class Report(Image, tag=1, version=1):
        names: list[str]
        values: Ints

A frame can also say only how an image differs from an earlier one of its class (`since`): arrays and tallies
then hold what changed, and the frame is decoded together with that earlier image.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from monitoring_lib.coders import AnyImage, Floats, Image, Ints, Words, coder_of
from monitoring_lib.errors import CodecError
from monitoring_lib.names import Names
from monitoring_lib.tally import Tally

__all__ = [
    "Floats",
    "Image",
    "Ints",
    "Names",
    "Words",
    "body_of",
    "changes_since",
    "decode",
    "encode",
    "encode_changes",
    "readable",
]

LARGEST_IMAGE = 512 * 1024 * 1024
"""Bytes above which an image is refused, on the way out and on the way in."""

_HEADER = 6


def encode(image: Image) -> bytes:
    """The frame of an image."""
    coder = coder_of(type(image))
    return _framed(image, coder.body(coder.pack(image)))


def encode_changes(image: AnyImage, since: AnyImage) -> bytes:
    """The frame of what changed: in tallies since their last mark, in arrays since that image."""
    return _difference(image, coder_of(type(image)).pack(image, []), body_of(since), [])


class Changes(NamedTuple):
    """The frame of what changed in an image, and whether it is that of the whole image.

    `body` is what `body_of` gives once these changes are stored.
    """

    frame: bytes
    whole: bool
    body: bytes


def body_of(image: Image) -> bytes:
    """The body of an image as if none of its tallies had changed: what later changes are told from."""
    coder = coder_of(type(image))
    return coder.body(coder.unchanged(coder.pack(image, [])))


def changes_since(image: Image, earlier: bytes) -> Changes | None:
    """What changed: in tallies since their last mark, in arrays since that body. None where nothing did."""
    coder = coder_of(type(image))
    noted: list[str] = []
    packed = coder.pack(image, noted)
    unchanged = coder.unchanged(packed)
    body = coder.body(unchanged)
    if body == earlier and packed == unchanged:
        return None
    frame = _difference(image, packed, earlier, noted)
    return Changes(frame, not noted, body)


def _difference(image: Image, packed: list[Any], earlier: bytes, noted: list[str]) -> bytes:
    coder = coder_of(type(image))
    return _framed(image, coder.body(coder.differ(packed, coder.plain(earlier), noted)))


def decode(frame: bytes, *kinds: type[AnyImage], since: AnyImage | None = None) -> AnyImage:
    """The image of a frame, which must be one of `kinds`; of differences, with the image that they start from.

    Tallies of `since` are handed on to the image: `since` itself is not to be used afterwards.
    """
    if not _HEADER <= len(frame) <= LARGEST_IMAGE:
        raise CodecError(f"a frame of {len(frame)} bytes cannot be an image of {_names(kinds)}")
    tag, version, body = frame[0], frame[1], memoryview(frame)[_HEADER:]
    if not is_intact(frame):
        raise CodecError(f"checksum mismatch in a frame of {len(frame)} bytes: it is truncated or corrupt")
    kind = next((kind for kind in kinds if tag == kind.TAG), None)
    if kind is None:
        raise CodecError(f"tag {tag} is none of {_names(kinds)}")
    if version != kind.VERSION:
        raise CodecError(f"{kind.__name__} of version {version}; this release reads version {kind.VERSION}")
    return coder_of(kind).image(body, since)


def is_intact(frame: bytes) -> bool:
    """Whether a frame is as it was encoded, by its checksum."""
    return zlib.crc32(memoryview(frame)[_HEADER:], zlib.crc32(frame[:2])).to_bytes(4, "little") == frame[2:_HEADER]


def readable(value: Any) -> Any:
    """The same content in plain JSON types, for people who audit it."""
    if isinstance(value, Image):
        return {name: readable(getattr(value, name)) for name in coder_of(type(value)).names}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Tally):
        return [[*([name] if isinstance(name, str) else name), number] for name, number in sorted(value.items())]
    if isinstance(value, Mapping):
        return {str(key): readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Names):
        return [readable(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value


def _names(kinds: Iterable[type[Image]]) -> str:
    return " or ".join(kind.__name__ for kind in kinds) or "no known kind"


def _framed(image: Image, body: bytes) -> bytes:
    if len(body) + _HEADER > LARGEST_IMAGE:
        name, size = type(image).__name__, len(body) + _HEADER
        raise CodecError(f"{name} takes {size} bytes, more than the limit of {LARGEST_IMAGE}")
    header = bytes((image.TAG, image.VERSION))
    return header + zlib.crc32(body, zlib.crc32(header)).to_bytes(4, "little") + body
