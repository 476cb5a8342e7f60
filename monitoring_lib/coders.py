"""What an image may hold, and how each type of field crosses: told to msgspec once a class, checked both ways."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np
from msgspec import Raw
from msgspec.msgpack import Decoder, Encoder, Ext
from numpy.typing import NDArray

from monitoring_lib.arrays import DIFFERENCE, difference_of, pack_array, unpack_array, unpack_difference
from monitoring_lib.errors import CodecError
from monitoring_lib.names import Names
from monitoring_lib.tally import Tally
from monitoring_lib.whole import BIG, big_of, with_big

Ints = Annotated[NDArray[np.int64], "<i8"]
"""A field of whole numbers; it crosses in the narrowest width that holds them."""
Words = Annotated[NDArray[np.uint64], "<u8"]
"""A field of 64-bit words (bitmaps, hashes)."""
Floats = Annotated[NDArray[np.float64], "<f8"]
"""A field of doubles."""

_ENCODER = Encoder()
_PLAIN: dict[Any, Any] = {int: int | Ext, float: float | int, str: str, bytes: bytes, bool: bool}
"""What msgspec is told of each plain type: a whole number may be an extension, a double is told from an integer."""


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


Noted = list[str]
"""The fields of which only what changed crosses."""


class Coder(NamedTuple):
    """How values of one type cross: the type that msgspec decodes, and how that is made and taken.

    `pack` is told to note a tally of which only the changes cross; None: all of it crosses. `differ` makes of a packed
    value, and of an earlier one as msgspec has decoded it, what changed, and notes where that is less than the whole.
    """

    wire: Any
    pack: Callable[[Any, Noted | None], Any]
    unpack: Callable[[Any, Any], Any]
    differ: Callable[[Any, Any, Noted], Any] = lambda packed, before, noted: packed


class ImageCoder(Generic[AnyImage]):
    """How the images of one class cross: as an array of their fields, in the order in which they are declared."""

    def __init__(self, kind: type[AnyImage]) -> None:
        self.kind = kind
        hints = typing.get_type_hints(kind, include_extras=True)
        self.names = [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]  # dataclasses
        self._coders = [_coder(hints[name], f"{kind.__name__}.{name}") for name in self.names]
        self.wire = tuple.__class_getitem__(tuple(coder.wire for coder in self._coders))
        self._decoder = Decoder(self.wire)
        self._tallies = [at for at, name in enumerate(self.names) if Tally in (hints[name], *get_args(hints[name]))]

    def body(self, plain: list[Any]) -> bytes:
        """Of a packed image."""
        try:
            return _ENCODER.encode(plain)
        except OverflowError:
            return _ENCODER.encode(with_big(plain))

    def image(self, body: memoryview, before: AnyImage | None) -> AnyImage:
        return self.unpack(self.plain(body), before)

    def plain(self, body: bytes | memoryview) -> tuple[Any, ...]:
        """What a body holds, before it is made an image of."""
        try:
            plain: tuple[Any, ...] = self._decoder.decode(body)
        except (ValueError, TypeError, RecursionError) as error:
            raise CodecError(f"{self.kind.__name__}: malformed body ({error})") from error
        return plain

    def pack(self, image: Any, noted: Noted | None = None) -> list[Any]:
        return [coder.pack(getattr(image, name), noted) for name, coder in zip(self.names, self._coders, strict=True)]

    def differ(self, packed: list[Any], before: Sequence[Any] | None, noted: Noted) -> list[Any]:
        if before is None:
            return packed
        fields_of = zip(self._coders, packed, before, strict=True)
        return [coder.differ(value, earlier, noted) for coder, value, earlier in fields_of]

    def unchanged(self, packed: list[Any]) -> list[Any]:
        """The packed image as it would be had none of its tallies changed."""
        made = list(packed)
        for at in self._tallies:
            made[at] = made[at] and [False, [], [], []]
        return made

    def unpack(self, plain: tuple[Any, ...], before: Any) -> AnyImage:
        earlier = before if type(before) is self.kind else None
        values = {
            name: coder.unpack(value, getattr(earlier, name, None))
            for name, coder, value in zip(self.names, self._coders, plain, strict=True)
        }
        try:
            return self.kind(**values)
        except (ValueError, OverflowError) as error:  # the class itself refuses these values
            raise CodecError(f"{self.kind.__name__}: {error}") from error


_CODERS: dict[type[Image], ImageCoder[Any]] = {}


def coder_of(kind: type[AnyImage]) -> ImageCoder[AnyImage]:
    if kind not in _CODERS:
        _CODERS[kind] = ImageCoder(kind)
    return _CODERS[kind]


def _coder(hint: Any, where: str) -> Coder:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _array(arguments[1], where)
    if hint in _PLAIN:
        return Coder(_PLAIN[hint], lambda value, _: _out(value, hint, where), lambda value, _: _in(value, hint, where))
    if hint is Tally:
        return _tally(where)
    if hint is Names:
        return Coder(Raw, lambda value, _: value.pack(where), lambda value, _: Names.unpack(value, where))
    if isinstance(hint, type) and issubclass(hint, Image):
        return _nested(hint, where)
    if origin is list:
        return _list(arguments[0], where)
    if origin is tuple:
        return _tuple([_coder(argument, where) for argument in arguments], where)
    if origin is dict:
        return _dict(_coder(arguments[0], where), _coder(arguments[1], where))
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        return _optional(_coder(next(a for a in arguments if a is not type(None)), where))
    raise TypeError(f"{where}: images cannot hold {hint}")


def _optional(inner: Coder) -> Coder:
    undecoded = inner.wire is Raw  # msgspec knows no union with it

    def is_none(plain: Any) -> bool:
        return bytes(memoryview(plain)[:1]) == b"\xc0" if undecoded else plain is None

    return Coder(
        Raw if undecoded else inner.wire | None,
        lambda value, noted: None if value is None else inner.pack(value, noted),
        lambda plain, before: None if is_none(plain) else inner.unpack(plain, before),
        lambda packed, before, noted: packed if packed is None else inner.differ(packed, before, noted),
    )


def _array(wide: str, where: str) -> Coder:
    def unpack(plain: Ext, before: Any) -> NDArray[Any]:
        if plain.code == DIFFERENCE:
            return unpack_difference(plain, before, wide, where)
        return unpack_array(plain, wide, where)

    def differ(packed: Ext, before: Any, noted: Noted) -> Ext:
        difference = difference_of(packed, before, wide)
        if difference is not packed:
            noted.append(where)
        return difference

    return Coder(Ext, lambda array, _: pack_array(array, wide, where), unpack, differ)


def _tally(where: str) -> Coder:
    def pack(tally: Tally, noted: Noted | None) -> list[Any]:
        changes_only = noted is not None and not tally.forgotten
        if changes_only and noted is not None:
            noted.append(where)
        return tally.pack(changes_only, where)

    def unpack(plain: Raw, before: Any) -> Tally:
        tally = Tally.unpack(plain, where)
        if not isinstance(before, Tally) or tally.forgotten:
            return tally
        before.apply(tally)
        return before

    return Coder(Raw, pack, unpack)


def _nested(kind: type[Image], where: str) -> Coder:
    coder = coder_of(kind)

    def pack(image: Any, _: Noted | None) -> list[Any]:
        if type(image) is not kind:
            raise TypeError(f"{where}: expected {kind.__name__}, found {type(image).__name__}")
        return coder.pack(image)

    return Coder(coder.wire, pack, coder.unpack, coder.differ)


def _list(hint: Any, where: str) -> Coder:
    item = _coder(hint, where)
    if hint in _PLAIN:
        return Coder(
            list[item.wire],  # type: ignore[name-defined]
            lambda values, _: _each(list(values), hint, _out, where),
            lambda plain, _: _each(plain, hint, _in, where),
        )

    def unpack(plain: list[Any], before: Any) -> list[Any]:
        earlier = dict(enumerate(before or ()))
        return [item.unpack(value, earlier.get(at)) for at, value in enumerate(plain)]

    def differ(packed: list[Any], before: list[Any] | None, noted: Noted) -> list[Any]:
        earlier = dict(enumerate(before or ()))
        return [item.differ(value, earlier.get(at), noted) for at, value in enumerate(packed)]

    return Coder(
        list[item.wire],  # type: ignore[name-defined]
        lambda values, _: [item.pack(value, None) for value in values],
        unpack,
        differ,
    )


def _tuple(parts: list[Coder], where: str) -> Coder:
    def pack(values: Any, _: Noted | None) -> list[Any]:
        if len(values) != len(parts):
            raise TypeError(f"{where}: expected {len(parts)} values, found {len(values)}")
        return [part.pack(value, None) for part, value in zip(parts, values, strict=True)]

    def unpack(plain: tuple[Any, ...], before: Any) -> tuple[Any, ...]:
        triples = zip(parts, plain, _parts(before), strict=True)
        return tuple(part.unpack(value, earlier) for part, value, earlier in triples)

    def differ(packed: list[Any], before: Any, noted: Noted) -> list[Any]:
        triples = zip(parts, packed, _parts(before), strict=True)
        return [part.differ(value, earlier, noted) for part, value, earlier in triples]

    def _parts(before: Any) -> tuple[Any, ...]:
        return before if isinstance(before, tuple) and len(before) == len(parts) else (None,) * len(parts)

    return Coder(tuple.__class_getitem__(tuple(part.wire for part in parts)), pack, unpack, differ)


def _dict(key: Coder, item: Coder) -> Coder:
    def pack(values: dict[Any, Any], _: Noted | None) -> dict[Any, Any]:
        return {key.pack(name, None): item.pack(values[name], None) for name in sorted(values)}

    def unpack(plain: dict[Any, Any], before: Any) -> dict[Any, Any]:
        earlier = before or {}
        taken = ((key.unpack(name, None), value) for name, value in plain.items())
        return {name: item.unpack(value, earlier.get(name)) for name, value in taken}

    def differ(packed: dict[Any, Any], before: dict[Any, Any] | None, noted: Noted) -> dict[Any, Any]:
        earlier = before or {}
        return {name: item.differ(value, earlier.get(name), noted) for name, value in packed.items()}

    return Coder(dict[key.wire, item.wire], pack, unpack, differ)  # type: ignore[name-defined]


def _each(values: list[Any], kind: type, cross: Callable[[Any, type, str], Any], where: str) -> list[Any]:
    return values if set(map(type, values)) <= {kind} else [cross(value, kind, where) for value in values]


def _out(value: Any, kind: type, where: str) -> Any:
    """The value as what its field says it is: what cannot be decoded again must not be encoded."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{where}: expected {kind.__name__}, found {type(value).__name__}")
    return value


def _in(plain: Any, kind: type, where: str) -> Any:
    if type(plain) is kind:
        return plain
    if kind is int and plain.code == BIG:
        return big_of(plain)
    raise CodecError(f"{where}: expected {kind.__name__}, found {type(plain).__name__}")
