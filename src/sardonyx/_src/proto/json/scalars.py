"""Scalars as JSON text; a list of numbers at once, since model files hold long ones."""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from json.encoder import encode_basestring_ascii as quote
from typing import Any, TypeAlias

import numpy as np

from sardonyx._src.proto.json.reader import is_unicode
from sardonyx._src.proto.record import Field, brief, value_error

MAX_FLOAT32 = float(np.finfo(np.float32).max)
ARRAY_TYPES = {"int32": "i", "int64": "q", "uint64": "Q"}
Scalars: TypeAlias = "Sequence[Any] | np.ndarray[Any, Any]"


class UnrepresentableValue(Exception):
    """A value that JSON cannot represent; `path` leads to it from the record that is being written."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why, self.path = why, path

    def inside(self, step: str) -> UnrepresentableValue:
        """The error, seen from the record whose field `step` holds the value."""
        return UnrepresentableValue(self.why, f"{step}.{self.path}" if self.path else step)


def scalar_text(field: Field, value: object) -> str:
    """The text of a field that is not repeated."""
    return checked_text(field, value, field.name)


def list_text(field: Field, values: Scalars, separator: str) -> str:
    """The values of a repeated field, without brackets."""
    items: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    write_all = LIST_WRITERS.get(field.kind)
    text = write_all(field, items, separator) if write_all is not None else None
    if text is not None:
        return text
    return separator.join(checked_text(field, item, f"{field.name}[{i}]") for i, item in enumerate(items))


def checked_text(field: Field, value: Any, path: str) -> str:
    if field.kind == "string" and type(value) is str and value.isascii():
        return quote(value)
    if why := value_error(field, value):
        raise UnrepresentableValue(why, path)
    if field.kind == "string" and not is_unicode(value):
        why = f"a string must be UTF-8 to be written as JSON; got {brief(value)}"
        raise UnrepresentableValue(why, path)
    return TEXT_WRITERS[field.kind](field, value)


# --- lists: None if the values must be written one by one -------------------------------------------------------


def integers_text(field: Field, values: Sequence[Any], separator: str) -> str | None:
    try:
        integers = array(ARRAY_TYPES[field.kind], values)  # holds the range of the kind
    except (TypeError, OverflowError):
        return None
    text = repr(integers.tolist())[1:-1]
    if field.kind == "int32":
        return text.replace(", ", separator)
    text = text.replace(", ", f'"{separator}"')
    return f'"{text}"'


def floats_text(field: Field, values: Sequence[Any], separator: str) -> str | None:
    if set(map(type, values)) != {float}:
        return None
    doubles = np.array(values, np.float64)
    if field.kind == "double":
        special = ~np.isfinite(doubles)
        texts = list(map(repr, values))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            singles = doubles.astype(np.float32)
        texts = list(map(str, singles))
        # NumPy writes 1e-04 and 1e+06; the rest of what is not below 1e6 is large or not finite.
        magnitudes = np.abs(doubles)
        special = (abs(magnitudes - 1e-4) < 1e-5) | ~(magnitudes < 1e6)
    for index in np.flatnonzero(special).tolist():
        texts[index] = checked_text(field, values[index], f"{field.name}[{index}]")
    return separator.join(texts)


def strings_text(field: Field, values: Sequence[Any], separator: str) -> str | None:
    if set(map(type, values)) != {str} or not "".join(values).isascii():
        return None
    return separator.join(map(quote, values))


LIST_WRITERS: dict[str, Callable[[Field, Sequence[Any], str], str | None]] = {
    "int32": integers_text,
    "int64": integers_text,
    "uint64": integers_text,
    "float": floats_text,
    "double": floats_text,
    "string": strings_text,
}


# --- values that fit their fields -------------------------------------------------------------------------------


def bytes_text(field: Field, value: Any) -> str:
    return f'"{base64.b64encode(value).decode()}"'


def enum_text(field: Field, value: int) -> str:
    assert field.enum, "a field of kind enum has an enum class"
    names = enum_names(field)
    number = int(value)
    return names.get(number) or str(number)


@cache
def enum_names(field: Field) -> dict[int, str]:
    assert field.enum, "a field of kind enum has an enum class"
    return {int(member): f'"{member.name}"' for member in field.enum}


def float_text(field: Field, value: float) -> str:
    """The shortest decimal that parses back to the same float or double."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if field.kind == "double":
        return repr(float(value))
    single = np.float32(value)
    shortest = float(str(single))
    # Readers parse a double: the shortest decimal of the largest float is above the range of float.
    return repr(shortest if abs(shortest) <= MAX_FLOAT32 else float(single))


TEXT_WRITERS: dict[str, Callable[[Field, Any], str]] = {
    "string": lambda field, value: quote(value),
    "bytes": bytes_text,
    "int32": lambda field, value: str(int(value)),
    "int64": lambda field, value: f'"{int(value)}"',
    "uint64": lambda field, value: f'"{int(value)}"',
    "enum": enum_text,
    "float": float_text,
    "double": float_text,
}
