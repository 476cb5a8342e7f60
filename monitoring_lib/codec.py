"""Images: how states, synopses and messages become bytes and come back.

A frame is ``tag (1) · version (1) · crc32 (4) · body``; the body is a msgpack array of the fields in their
declared order. Equal values give equal bytes, so digests of frames are digests of content. Decoding trusts
nothing: whatever the bytes are, the outcome is an image of a known class or a CodecError.

An image is a dataclass that derives from Image and says its tag and version::

    @dataclass(slots=True)
    class Report(Image, tag=1, version=1):
        names: list[str]
        values: Ints
"""

from __future__ import annotations

import types
import typing
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

import msgpack
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.errors import CodecError
from monitoring_lib.tally import Tally

Ints = Annotated[NDArray[np.int64], "<i8"]
"""A field of whole numbers; it crosses in the narrowest width that holds them."""
Words = Annotated[NDArray[np.uint64], "<u8"]
"""A field of 64-bit words (bitmaps, hashes)."""
Floats = Annotated[NDArray[np.float64], "<f8"]
"""A field of doubles."""

LARGEST_IMAGE = 512 * 1024 * 1024
"""Bytes above which an image is refused, on the way out and on the way in."""

_HEADER = 6
_BIG_INT, _ARRAY = 1, 2
_NARROWER = {"<i8": ("<i1", "<i2", "<i4", "<i8"), "<u8": ("<u1", "<u2", "<u4", "<u8"), "<f8": ("<f8",)}
_WIDTHS = tuple(width for widths in _NARROWER.values() for width in widths)
_MOST_DIMENSIONS = 4

Pack = Callable[[Any], Any]
Coder = tuple[str, Pack, Pack]
_CODERS: dict[type[Image], tuple[Coder, ...]] = {}


class Image:
    """Base of everything that is stored or sent. Subclasses are slotted dataclasses."""

    __slots__ = ()
    TAG: ClassVar[int]
    VERSION: ClassVar[int]

    def __init_subclass__(cls, *, tag: int | None = None, version: int = 1, **more: Any) -> None:
        super().__init_subclass__(**more)
        if tag is None:  # @dataclass(slots=True) makes the class anew, without the keywords
            return
        if not (0 <= tag < 256 and 0 < version < 256):
            raise ValueError(f"{cls.__name__}: tag {tag} and version {version} must each fit in one byte")
        cls.TAG, cls.VERSION = tag, version


AnyImage = TypeVar("AnyImage", bound=Image)


def encode(image: Image, *, changes_only: bool = False) -> bytes:
    """The frame of an image; with `changes_only`, its tallies hold what changed since their last mark."""
    body: bytes = msgpack.packb(_pack_image(image, changes_only), default=_pack_big, use_bin_type=True)
    if len(body) + _HEADER > LARGEST_IMAGE:
        name, size = type(image).__name__, len(body) + _HEADER
        raise CodecError(f"{name} takes {size} bytes, more than the limit of {LARGEST_IMAGE}")
    header = bytes((image.TAG, image.VERSION))
    return header + zlib.crc32(body, zlib.crc32(header)).to_bytes(4, "little") + body


def decode(frame: bytes, *kinds: type[AnyImage]) -> AnyImage:
    """The image of a frame, which must be one of `kinds`."""
    if not _HEADER <= len(frame) <= LARGEST_IMAGE:
        raise CodecError(f"a frame of {len(frame)} bytes cannot be an image of {_names(kinds)}")
    tag, version, body = frame[0], frame[1], frame[_HEADER:]
    if zlib.crc32(body, zlib.crc32(frame[:2])).to_bytes(4, "little") != frame[2:_HEADER]:
        raise CodecError(f"checksum mismatch in a frame of {len(frame)} bytes: it is truncated or corrupt")
    kind = next((kind for kind in kinds if tag == kind.TAG), None)
    if kind is None:
        raise CodecError(f"tag {tag} is none of {_names(kinds)}")
    if version != kind.VERSION:
        raise CodecError(f"{kind.__name__} of version {version}; this release reads version {kind.VERSION}")
    try:
        plain = msgpack.unpackb(body, ext_hook=_unpack_extension, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        raise CodecError(f"{kind.__name__}: malformed body ({error})") from error
    return _unpack_image(kind, plain)


def readable(value: Any) -> Any:
    """The same content in plain JSON types, for people who audit it."""
    if isinstance(value, Image):
        return {name: readable(getattr(value, name)) for name, _, _ in _coders(type(value))}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Tally):
        return [[*([name] if isinstance(name, str) else name), number] for name, number in sorted(value.items())]
    if isinstance(value, Mapping):
        return {str(key): readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [readable(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value


def _names(kinds: Iterable[type[Image]]) -> str:
    return " or ".join(kind.__name__ for kind in kinds) or "no known kind"


def _pack_image(image: Image, changes_only: bool = False) -> list[Any]:
    values = ((pack, getattr(image, name)) for name, pack, _ in _coders(type(image)))
    return [value.pack(changes_only) if isinstance(value, Tally) else pack(value) for pack, value in values]


def _unpack_image(kind: type[AnyImage], plain: Any) -> AnyImage:
    coders = _coders(kind)
    if not isinstance(plain, list) or len(plain) != len(coders):
        raise CodecError(f"{kind.__name__}: expected {len(coders)} fields")
    values = {name: unpack(value) for (name, _, unpack), value in zip(coders, plain, strict=True)}
    try:
        return kind(**values)
    except (ValueError, OverflowError) as error:  # the class itself refuses these values
        raise CodecError(f"{kind.__name__}: {error}") from error


def _coders(kind: type[Image]) -> tuple[Coder, ...]:
    if kind not in _CODERS:
        hints = typing.get_type_hints(kind, include_extras=True)
        _CODERS[kind] = tuple(
            (field.name, *_coder(hints[field.name], f"{kind.__name__}.{field.name}"))
            for field in fields(kind)  # type: ignore[arg-type]  # refuses what is not a dataclass
            if field.init
        )
    return _CODERS[kind]


def _coder(hint: Any, where: str) -> tuple[Pack, Pack]:
    """How a value of this type is packed, and unpacked with its type checked."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return (
            lambda value: _pack_array(value, arguments[1], where),
            lambda value: _checked_array(value, arguments[1], where),
        )
    if hint in (int, str, bytes, bool, float):
        return lambda value: _plain(value, hint, where), lambda value: _checked(value, hint, where)
    if hint is Tally:
        return (lambda value: value.pack(False)), lambda value: Tally.unpack(value, where)
    if isinstance(hint, type) and issubclass(hint, Image):
        return _pack_image, lambda value: _unpack_image(hint, value)
    if origin is list:
        pack, unpack = _coder(arguments[0], where)
        if arguments[0] in (int, str, bytes, bool, float):
            return (
                lambda value: _plain_list(value, arguments[0], where),
                lambda value: _checked_list(value, arguments[0], where),
            )
        return (
            lambda value: [pack(item) for item in value],
            lambda value: [unpack(item) for item in _checked(value, list, where)],
        )
    if origin is tuple:
        parts = [_coder(argument, where) for argument in arguments]
        return (
            lambda value: [pack(item) for (pack, _), item in zip(parts, value, strict=True)],
            lambda value: _unpack_tuple(value, parts, where),
        )
    if origin is dict:
        (pack_key, unpack_key), (pack, unpack) = (_coder(argument, where) for argument in arguments)
        return (
            lambda value: {pack_key(key): pack(value[key]) for key in sorted(value)},
            lambda value: {unpack_key(key): unpack(item) for key, item in _checked(value, dict, where).items()},
        )
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        pack, unpack = _coder(next(a for a in arguments if a is not type(None)), where)
        return (
            lambda value: None if value is None else pack(value),
            lambda value: None if value is None else unpack(value),
        )
    raise TypeError(f"{where}: images cannot hold {hint}")


def _plain(value: Any, kind: type, where: str) -> Any:
    """The value as what its field says it is: what cannot be decoded again must not be encoded."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{where}: expected {kind.__name__}, found {type(value).__name__}")
    return value


def _plain_list(value: Iterable[Any], kind: type, where: str) -> list[Any]:
    values = list(value)
    if set(map(type, values)) <= {kind}:
        return values
    return [_plain(item, kind, where) for item in values]


def _checked(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        raise CodecError(f"{where}: expected {kind.__name__}, found {type(value).__name__}")
    return value


def _checked_list(value: Any, kind: type, where: str) -> Any:
    if type(value) is not list or not all(type(item) is kind for item in value):
        raise CodecError(f"{where}: expected a list of {kind.__name__}")
    return value


def _unpack_tuple(value: Any, parts: list[tuple[Pack, Pack]], where: str) -> tuple[Any, ...]:
    if type(value) is not list or len(value) != len(parts):
        raise CodecError(f"{where}: expected {len(parts)} values")
    return tuple(unpack(item) for (_, unpack), item in zip(parts, value, strict=True))


def _checked_array(value: Any, width: str, where: str) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) or value.dtype.str.replace("|", "<") not in _NARROWER[width]:
        raise CodecError(f"{where}: expected an array of {width}")
    return value.astype(width)


def _pack_big(value: Any) -> msgpack.ExtType:
    """Called by msgpack for what it does not know: whole numbers beyond 64 bits."""
    if isinstance(value, int):
        return msgpack.ExtType(_BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    raise TypeError(f"images cannot hold {type(value).__name__}")


def _pack_array(array: NDArray[Any], wide: str, where: str) -> msgpack.ExtType:
    if array.dtype.newbyteorder("<").str != wide:
        raise TypeError(f"{where}: expected an array of {wide}, found {array.dtype}")
    if not 1 <= array.ndim <= _MOST_DIMENSIONS or 0 in array.shape[1:]:
        raise TypeError(f"{where}: images cannot hold an array of shape {array.shape}")
    narrow = wide
    if wide != "<f8" and array.size:
        low, high = int(array.min()), int(array.max())
        narrow = next(w for w in _NARROWER[wide] if np.iinfo(w).min <= low and high <= np.iinfo(w).max)
    shape = b"".join(length.to_bytes(4, "little") for length in array.shape[1:])
    head = bytes((_WIDTHS.index(narrow), array.ndim)) + shape
    return msgpack.ExtType(_ARRAY, head + np.ascontiguousarray(array, narrow).tobytes())


def _unpack_extension(code: int, data: bytes) -> Any:
    if code == _BIG_INT:
        return int.from_bytes(data, "little", signed=True)
    if code != _ARRAY or len(data) < 2 or data[0] >= len(_WIDTHS) or not 1 <= data[1] <= _MOST_DIMENSIONS:
        raise ValueError(f"unknown extension {code}")
    start = 2 + 4 * (data[1] - 1)
    rest = [int.from_bytes(data[at : at + 4], "little") for at in range(2, start, 4)]
    flat = np.frombuffer(data, _WIDTHS[data[0]], offset=start)
    row = int(np.prod(rest, dtype=object)) if rest else 1
    if row == 0 or flat.size % row:
        raise ValueError("an array whose length does not fit its shape")
    return flat.reshape(flat.size // row, *rest)
