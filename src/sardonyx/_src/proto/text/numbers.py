"""Conversion between numbers and text: shortest round-trip decimals for floats, range-checked integers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sardonyx._src.proto.record import RANGES, Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

# For each kind of float: its dtype, the dtype of its bits, and the bits of the quiet NaN.
FLOAT_FORMATS: dict[str, tuple[np.dtype[Any], np.dtype[Any], int]] = {
    "float": (np.dtype("<f4"), np.dtype("<u4"), 0x7FC00000),
    "double": (np.dtype("<f8"), np.dtype("<u8"), 0x7FF8000000000000),
}
INTEGER_DTYPES: dict[str, np.dtype[Any]] = {
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "uint64": np.dtype("<u8"),
    "enum": np.dtype("<i4"),
}
INTEGER_PATTERN = re.compile(r"-?[0-9]+")
ARRAY_FROM = 256  # a packed field with at least this many numbers becomes an array


class NumberOutOfRange(ValueError):
    """The number at `index` of a list does not fit its type."""

    def __init__(self, why: str, index: int) -> None:
        super().__init__(why)
        self.index = index


def float_literals(values: Numbers[float] | Sequence[float], kind: str) -> list[str]:
    """Each float as a literal: quiet NaNs without payload as `nan` and `-nan`, other NaNs as their bits."""
    floats, _, _ = FLOAT_FORMATS[kind]
    with np.errstate(invalid="ignore"):  # NumPy warns of signaling NaNs, which become quiet
        array = np.asarray(values, floats)
    literals = list(map(str, array))
    if not literals:
        return literals
    # Parsers round twice, to double and then to float.  For a few decimals this is not the nearest float.
    parsed = np.fromiter(map(float, literals), np.float64, len(literals)).astype(floats)
    for index in np.flatnonzero(parsed != array):
        value = array[index]
        literals[index] = nan_text(value, kind) if np.isnan(value) else repr(float(value))
    return literals


def nan_text(value: np.floating[Any], kind: str) -> str:
    _, integers, quiet = FLOAT_FORMATS[kind]
    bits = int(value.view(integers))
    sign = 1 << (8 * integers.itemsize - 1)
    if bits & ~sign == quiet:
        return "-nan" if bits & sign else "nan"
    return f"nan({bits:#x})"


def float_values(literals: Sequence[str], kind: str) -> NDArray[np.floating[Any]]:
    """The floats that the literals represent, rounded to the kind; raises NumberOutOfRange if one is too large."""
    floats, integers, _ = FLOAT_FORMATS[kind]
    marked = [index for index, text in enumerate(literals) if text[-1] == ")"]
    if marked:
        values = float_values(["nan" if text[-1] == ")" else text for text in literals], kind)
        values.view(integers)[marked] = [nan_bits(literals[index], index, kind) for index in marked]
        return values
    with np.errstate(over="ignore"):
        values = np.array(list(map(float, literals)), np.float64).astype(floats)
    for index in np.flatnonzero(np.isinf(values)).tolist():
        if "n" not in literals[index].lower():  # no "inf", but a number that is too large
            raise NumberOutOfRange(
                f"a {kind} must be at most {np.finfo(floats).max}; got {literals[index].strip()}", index
            )
    return values


def nan_bits(text: str, index: int, kind: str) -> int:
    """The bits of a literal `nan(0x…)`; raises NumberOutOfRange unless they are a NaN's, with either sign."""
    _, integers, quiet = FLOAT_FORMATS[kind]
    bits = int(text[text.index("(") + 1 : -1], 16)
    infinity = quiet & quiet << 1  # the exponent bits of a NaN, without the quiet bit
    if not infinity < bits & ~(1 << (8 * integers.itemsize - 1)) < 2 * quiet - infinity:
        raise NumberOutOfRange(
            f"the bits must be those of a {8 * integers.itemsize}-bit NaN; got {text}", index
        )
    return bits


def int_values(literals: Sequence[str], kind: str) -> list[int]:
    """The integers that the literals represent; raises NumberOutOfRange if one is not in the range of the kind."""
    return parse_integers(literals, RANGES[kind].start, RANGES[kind].stop - 1, kind)


def parse_integers(literals: Sequence[str], low: int, high: int, kind: str) -> list[int]:
    values: list[int] = []
    for index, text in enumerate(literals):
        value = int(text) if len(text) < 100 else high + 1  # int() rejects thousands of digits
        if not low <= value <= high:
            raise NumberOutOfRange(f"{kind} must be from {low} to {high}; got {text.strip()[:40]}", index)
        values.append(value)
    return values


def number_values(literals: Sequence[str], kind: str, packed: bool) -> Numbers[int] | Numbers[float]:
    """The value of a repeated field of numbers: a list, or an array if the field is packed and long."""
    if kind not in FLOAT_FORMATS:
        numbers = int_values(literals, kind)
        return np.array(numbers, INTEGER_DTYPES[kind]) if packed and len(numbers) >= ARRAY_FROM else numbers
    array = float_values(literals, kind)
    # Then an array even if it is short: a Python float would make a signaling NaN quiet.
    has_nan_bits = any(text[-1] == ")" for text in literals)
    return (
        array
        if packed and (has_nan_bits or len(array) >= ARRAY_FROM)
        else cast("list[float]", array.tolist())
    )
