"""Scalars as JSON text; a list of numbers is converted as a whole, since model files contain long ones."""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from json.encoder import encode_basestring_ascii as quote
from typing import Any, TypeAlias

import numpy as np

from sardonyx._src.proto.json.floats import decimals_text
from sardonyx._src.proto.json.reader import is_unicode
from sardonyx._src.proto.record import RANGES, Field, brief, value_error

MAX_FLOAT32 = float(np.finfo(np.float32).max)
ARRAY_TYPES = {"int32": "i", "int64": "q", "uint64": "Q"}
LAST_INT64 = RANGES["int64"][-1]
MIN_BULK_FLOATS = 64  # shorter lists of floats are converted faster one by one
Scalars: TypeAlias = "Sequence[Any] | np.ndarray[Any, Any]"
ListWriter: TypeAlias = Callable[[Scalars, str], str | None]


class UnrepresentableValue(Exception):
    """A value that JSON cannot represent; `path` leads to it from the record that is being written."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why, self.path = why, path

    def inside(self, step: str) -> UnrepresentableValue:
        """The error with the path from the enclosing record.  step: the enclosing record's field that has the value."""
        return UnrepresentableValue(self.why, f"{step}.{self.path}" if self.path else step)


def scalar_text(field: Field, value: object) -> str:
    """The text of a field that is not repeated."""
    if type(value) is str and field.kind == "string":
        text = quote(value)
        return text if "\\u" not in text else checked_text(field, value, field.name)
    if type(value) is int and field.kind == "int64" and -LAST_INT64 <= value <= LAST_INT64:
        return f'"{value}"'
    return checked_text(field, value, field.name)


def list_text(field: Field, values: Scalars, separator: str) -> str:
    """The values of a repeated field, without brackets."""
    write_all = LIST_WRITERS.get(field.kind)
    text = write_all(values, separator) if write_all is not None else None
    if text is not None:
        return text
    items: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    return separator.join(checked_text(field, item, f"{field.name}[{i}]") for i, item in enumerate(items))


def checked_text(field: Field, value: Any, path: str) -> str:
    if why := value_error(field, value):
        raise UnrepresentableValue(why, path)
    if field.kind == "string" and not is_unicode(value):
        why = f"a string must be UTF-8 to be written as JSON; got {brief(value)}"
        raise UnrepresentableValue(why, path)
    return TEXT_WRITERS[field.kind](field, value)


# --- lists: None if the values must be written one by one -------------------------------------------------------


def integers_writer(kind: str) -> ListWriter:
    form = ARRAY_TYPES[kind]  # an array of this type holds exactly the range of the kind
    item = "%d" if kind == "int32" else '"%d"'

    def write_integers(values: Scalars, separator: str) -> str | None:
        try:
            integers = array(form, values.tolist() if isinstance(values, np.ndarray) else values)
        except (TypeError, OverflowError):
            return None
        return separator.join([item] * len(integers)) % tuple(integers)

    return write_integers


def write_strings(values: Scalars, separator: str) -> str | None:
    try:
        text = separator.join(map(quote, values))
    except TypeError:
        return None
    # Escaped text may have surrogates, which are no text: it is checked string by string.
    return text if "\\u" not in text else None


def write_floats(values: Scalars, separator: str) -> str | None:
    doubles = doubles_of(values)
    if doubles is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        singles = doubles.astype(np.float32)
        text, left_out = decimals_text(singles)
    others = doubles[left_out]
    # A finite double that is out of range is found one by one, so that the error names it.
    if not np.array_equal(np.isinf(others), np.isinf(singles[left_out])):
        return None
    text = text[:-1].replace(",", separator)
    return text % tuple(map(single_text, others.tolist())) if left_out else text


def write_doubles(values: Scalars, separator: str) -> str | None:
    doubles = doubles_of(values)
    if doubles is None:
        return None
    if not np.isfinite(doubles).all():
        return separator.join(map(double_text, doubles.tolist()))
    return repr(doubles.tolist())[1:-1].replace(", ", separator)


def doubles_of(values: Scalars) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The values as an array, if they are many and all of them are floats."""
    if len(values) < MIN_BULK_FLOATS:
        return None
    if isinstance(values, np.ndarray):
        with np.errstate(invalid="ignore"):  # NumPy warns of signaling NaNs
            return values.astype(np.float64) if values.dtype.kind == "f" and values.ndim == 1 else None
    return np.array(values, np.float64) if set(map(type, values)) == {float} else None


LIST_WRITERS: dict[str, ListWriter] = {
    "int32": integers_writer("int32"),
    "int64": integers_writer("int64"),
    "uint64": integers_writer("uint64"),
    "float": write_floats,
    "double": write_doubles,
    "string": write_strings,
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


def single_text(value: float) -> str:
    """The shortest decimal that parses back to the same float."""
    if value == 0 or not math.isfinite(value):  # not cached: 0.0 and -0.0 would be the same key of the cache
        return double_text(value)
    return finite_single_text(value)


@lru_cache(maxsize=4096)
def finite_single_text(value: float) -> str:
    single = np.float32(value)
    shortest = float(str(single))
    # Readers parse a double, and the shortest decimal of the largest float is a double above the range of float.
    return repr(shortest if abs(shortest) <= MAX_FLOAT32 else float(single))


def double_text(value: float) -> str:
    """The shortest decimal that parses back to the same double."""
    return repr(float(value)) if math.isfinite(value) else non_finite_text(value)


def non_finite_text(value: float) -> str:
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


TEXT_WRITERS: dict[str, Callable[[Field, Any], str]] = {
    "string": lambda field, value: quote(value),
    "bytes": bytes_text,
    "int32": lambda field, value: str(int(value)),
    "int64": lambda field, value: f'"{int(value)}"',
    "uint64": lambda field, value: f'"{int(value)}"',
    "enum": enum_text,
    "float": lambda field, value: single_text(value),
    "double": lambda field, value: double_text(value),
}
