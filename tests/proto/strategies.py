"""Random records of every class, from its table of fields: with defaults set, odd enum values, strings of any bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from sardonyx._src.proto.messages import MESSAGES
from sardonyx._src.proto.record import Field, Record

R = TypeVar("R", bound=Record)

message_types = st.sampled_from(MESSAGES)
words = st.sampled_from(
    ["", "x", "N", "a b", "float", "nan", "1", "ai.onnx", 'say "\\x"', "\n", "\r\t", "é\u2028", "raw_data"]
)
# Strings as a file holds them: bytes that are not UTF-8 are surrogate escapes.
strings = st.one_of(words, st.binary(max_size=5).map(lambda b: b.decode("utf-8", "surrogateescape")))
payloads = st.one_of(st.binary(max_size=9), words.map(str.encode))
singles = st.one_of(st.sampled_from([0.0, -0.0, 1.0, float(np.float32(0.1))]), st.floats(width=32))


def integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(max(low, -1), 28), st.integers(low, high), st.sampled_from([low, high]))


SCALARS: dict[str, st.SearchStrategy[object]] = {
    "string": strings,
    "bytes": payloads,
    "float": singles,
    "double": st.floats(),
    "int32": integers(-(1 << 31), (1 << 31) - 1),
    "enum": integers(-(1 << 31), (1 << 31) - 1),
    "int64": integers(-(1 << 63), (1 << 63) - 1),
    "uint64": integers(0, (1 << 64) - 1),
}
ARRAYS = {"float": "f4", "double": "f8", "int32": "i4", "int64": "i8", "uint64": "u8"}


@st.composite
def records(draw: st.DrawFn, message: type[R], depth: int = 4) -> R:
    """A record of the class with up to six of its fields set, and messages in it down to `depth`."""
    record = message()
    fields = [field for field in message.FIELDS if depth or field.message is None]
    for field in draw(st.lists(st.sampled_from(fields), unique=True, max_size=6)) if fields else ():
        record.set(field.name, draw(values(field, depth)))
    for number in draw(st.lists(st.integers(200, 1000), max_size=1)):
        record.add_unknown(unknown_varint(number))
    return record


def values(field: Field, depth: int) -> st.SearchStrategy[object]:
    """Values of a field: a list or, where the field is packed, also an array, if it is repeated."""
    elements = SCALARS[field.kind] if field.message is None else records(field.message, depth - 1)
    if not field.repeated:
        return elements
    several = st.lists(elements, max_size=3)
    return st.one_of(several, several.map(array_of(field.kind))) if field.packed else several


def array_of(kind: str) -> Callable[[list[object]], object]:
    return lambda values: np.array(values, ARRAYS[kind])


def unknown_varint(number: int) -> bytes:
    """A field of two-byte tag with the value 1."""
    tag = number << 3
    return bytes([tag & 0x7F | 0x80, tag >> 7, 1])
