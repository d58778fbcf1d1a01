"""Numbers as text: the shortest decimals that read back as the same floats, and integers within their range."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.proto.record import RANGES, Numbers

FORMATS: dict[str, tuple[np.dtype[Any], np.dtype[Any], int]] = {  # floats, their bits, the bits of NaN
    "float": (np.dtype("<f4"), np.dtype("<u4"), 0x7FC00000),
    "double": (np.dtype("<f8"), np.dtype("<u8"), 0x7FF8000000000000),
}
INTEGERS: dict[str, np.dtype[Any]] = {
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "uint64": np.dtype("<u8"),
    "enum": np.dtype("<i4"),
}
WHOLE = re.compile(r"-?[0-9]+")
LONG = 256  # numbers; a packed field at least this long is read as an array


class Unfit(ValueError):
    """The number at `index` of a list cannot be what it should be."""

    def __init__(self, why: str, index: int) -> None:
        super().__init__(why)
        self.index = index


def float_texts(values: Numbers[float] | Sequence[float], kind: str) -> list[str]:
    """Each float as text; `nan` and `-nan` are the quiet ones without payload, other NaNs give their bits."""
    floats, _, _ = FORMATS[kind]
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes quiet, as in a file
        array = np.asarray(values, floats)
    texts = list(map(str, array))
    if not texts:
        return texts
    # Reading goes through 64 bits, which for a few decimals rounds differently than one step would.
    back = np.fromiter(map(float, texts), np.float64, len(texts)).astype(floats)
    for index in np.flatnonzero(back != array):
        value = array[index]
        texts[index] = nan_text(value, kind) if np.isnan(value) else repr(float(value))
    return texts


def nan_text(value: np.floating[Any], kind: str) -> str:
    _, integers, quiet = FORMATS[kind]
    bits = int(value.view(integers))
    sign = 1 << (8 * integers.itemsize - 1)
    if bits & ~sign == quiet:
        return "-nan" if bits & sign else "nan"
    return f"nan({bits:#x})"


def float_values(texts: Sequence[str], kind: str) -> NDArray[np.floating[Any]]:
    """The floats that texts mean, rounded to the kind; Unfit for one that is too large for it."""
    floats, integers, _ = FORMATS[kind]
    marked = [index for index, text in enumerate(texts) if text[-1] == ")"]
    if marked:
        values = float_values(["nan" if text[-1] == ")" else text for text in texts], kind)
        values.view(integers)[marked] = [nan_bits(texts[index], index, kind) for index in marked]
        return values
    with np.errstate(over="ignore"):
        values = np.array(list(map(float, texts)), np.float64).astype(floats)
    for index in np.flatnonzero(np.isinf(values)).tolist():
        if "n" not in texts[index].lower():  # of "inf"
            raise Unfit(
                f"{texts[index].strip()} does not fit {kind}: it is larger than {np.finfo(floats).max}", index
            )
    return values


def nan_bits(text: str, index: int, kind: str) -> int:
    _, integers, quiet = FORMATS[kind]
    bits = int(text[text.index("(") + 1 : -1], 16)
    infinity = quiet & quiet << 1
    if not infinity < bits & ~(1 << (8 * integers.itemsize - 1)) < 2 * quiet - infinity:
        raise Unfit(f"{text} is not a NaN of {8 * integers.itemsize} bits", index)
    return bits


def int_values(texts: Sequence[str], kind: str) -> list[int]:
    """The integers that texts mean; Unfit for one out of the kind's range."""
    return whole_numbers(texts, RANGES[kind].start, RANGES[kind].stop - 1, kind)


def whole_numbers(texts: Sequence[str], low: int, high: int, kind: str) -> list[int]:
    values: list[int] = []
    for index, text in enumerate(texts):
        value = int(text) if len(text) < 100 else high + 1  # int() balks at thousands of digits
        if not low <= value <= high:
            raise Unfit(f"{text.strip()[:40]} does not fit {kind}: wanted {low} to {high}", index)
        values.append(value)
    return values


def number_values(texts: Sequence[str], kind: str, packed: bool) -> Numbers[int] | Numbers[float]:
    """A repeated field of numbers: a list, or an array where the field is packed and long."""
    if kind not in FORMATS:
        numbers = int_values(texts, kind)
        return np.array(numbers, INTEGERS[kind]) if packed and len(numbers) >= LONG else numbers
    array = float_values(texts, kind)
    # A list would make a signalling NaN quiet.
    exact = any(text[-1] == ")" for text in texts)
    return array if packed and (exact or len(array) >= LONG) else cast("list[float]", array.tolist())
