"""Columns to texts. Nothing and an empty text are the same: missing."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.reading.reasons import Reasons


def to_texts(column: pa.Array, name: str, reasons: Reasons) -> pa.Array:
    """The column as strings; a row whose bytes are not UTF-8 gets a reason."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return to_texts(column.dictionary_decode(), name, reasons)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        column = _decoded(column.cast(pa.binary()), name, reasons)
    texts = column if pa.types.is_string(kind) else column.cast(pa.string())
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, None, texts) if pc.any(empty).as_py() else texts


def _decoded(column: pa.Array, name: str, reasons: Reasons) -> pa.Array:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        for at, content in enumerate(column.to_pylist()):
            try:
                texts.append(None if content is None else content.decode())
            except UnicodeDecodeError:
                reasons.add(at, name, "is not UTF-8")
                texts.append(None)
        return pa.array(texts, pa.string())
