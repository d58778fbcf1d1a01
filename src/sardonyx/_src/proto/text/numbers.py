"""Conversion between numbers and text: shortest round-trip decimals for floats, range-checked integers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.proto.record import RANGES, Numbers

FLOAT_FORMATS: dict[
    str, tuple[np.dtype[Any], np.dtype[Any], int]
] = {  # dtype, dtype of its bits, bits of the quiet NaN
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
ARRAY_FROM = 256  # numbers; a packed field at least this long becomes an array


class NumberOutOfRange(ValueError):
    """The number at `index` of a list does not fit its type."""

    def __init__(self, why: str, index: int) -> None:
        super().__init__(why)
        self.index = index


def float_texts(values: Numbers[float] | Sequence[float], kind: str) -> list[str]:
    """Each float as text: quiet NaNs without payload as `nan` and `-nan`, other NaNs as their bits."""
    floats, _, _ = FLOAT_FORMATS[kind]
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes quiet
        array = np.asarray(values, floats)
    texts = list(map(str, array))
    if not texts:
        return texts
    # Parsing rounds twice, to double and then to float, which differs from one rounding for a few decimals.
    parsed = np.fromiter(map(float, texts), np.float64, len(texts)).astype(floats)
    for index in np.flatnonzero(parsed != array):
        value = array[index]
        texts[index] = nan_text(value, kind) if np.isnan(value) else repr(float(value))
    return texts


def nan_text(value: np.floating[Any], kind: str) -> str:
    _, integers, quiet = FLOAT_FORMATS[kind]
    bits = int(value.view(integers))
    sign = 1 << (8 * integers.itemsize - 1)
    if bits & ~sign == quiet:
        return "-nan" if bits & sign else "nan"
    return f"nan({bits:#x})"


def float_values(texts: Sequence[str], kind: str) -> NDArray[np.floating[Any]]:
    """The floats that the texts represent, rounded to the kind; raises NumberOutOfRange for one that is too large."""
    floats, integers, _ = FLOAT_FORMATS[kind]
    marked = [index for index, text in enumerate(texts) if text[-1] == ")"]
    if marked:
        values = float_values(["nan" if text[-1] == ")" else text for text in texts], kind)
        values.view(integers)[marked] = [nan_bits(texts[index], index, kind) for index in marked]
        return values
    with np.errstate(over="ignore"):
        values = np.array(list(map(float, texts)), np.float64).astype(floats)
    for index in np.flatnonzero(np.isinf(values)).tolist():
        if "n" not in texts[index].lower():  # of "inf"
            raise NumberOutOfRange(
                f"a {kind} must be at most {np.finfo(floats).max}; got {texts[index].strip()}", index
            )
    return values


def nan_bits(text: str, index: int, kind: str) -> int:
    _, integers, quiet = FLOAT_FORMATS[kind]
    bits = int(text[text.index("(") + 1 : -1], 16)
    infinity = quiet & quiet << 1
    if not infinity < bits & ~(1 << (8 * integers.itemsize - 1)) < 2 * quiet - infinity:
        raise NumberOutOfRange(
            f"the bits must be those of a {8 * integers.itemsize}-bit NaN; got {text}", index
        )
    return bits


def int_values(texts: Sequence[str], kind: str) -> list[int]:
    """The integers that the texts represent; raises NumberOutOfRange for one outside the range of the kind."""
    return parse_integers(texts, RANGES[kind].start, RANGES[kind].stop - 1, kind)


def parse_integers(texts: Sequence[str], low: int, high: int, kind: str) -> list[int]:
    values: list[int] = []
    for index, text in enumerate(texts):
        value = int(text) if len(text) < 100 else high + 1  # int() rejects thousands of digits
        if not low <= value <= high:
            raise NumberOutOfRange(f"{kind} must be from {low} to {high}; got {text.strip()[:40]}", index)
        values.append(value)
    return values


def number_values(texts: Sequence[str], kind: str, packed: bool) -> Numbers[int] | Numbers[float]:
    """The value of a repeated field of numbers: a list, or an array if the field is packed and long."""
    if kind not in FLOAT_FORMATS:
        numbers = int_values(texts, kind)
        return np.array(numbers, INTEGER_DTYPES[kind]) if packed and len(numbers) >= ARRAY_FROM else numbers
    array = float_values(texts, kind)
    # A Python float would make a signalling NaN quiet.
    exact = any(text[-1] == ")" for text in texts)
    return array if packed and (exact or len(array) >= ARRAY_FROM) else cast("list[float]", array.tolist())
