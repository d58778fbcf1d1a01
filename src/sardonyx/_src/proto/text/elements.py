"""Conversion between `raw_data` and the text of its elements, for all element types of fixed width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.proto.record import Payload
from sardonyx._src.proto.text.numbers import NumberOutOfRange, float_literals, float_values, parse_integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPLEX_PARTS = {DataType.COMPLEX64: DataType.FLOAT, DataType.COMPLEX128: DataType.DOUBLE}


def raw_literals(data: Payload, dtype: DataType, dims: Sequence[int], max_elements: int) -> list[str] | None:
    """At most `max_elements` elements of raw data as number literals; None if the data do not fit dtype and dims.

    A complex element gives two literals: its real and its imaginary part.
    """
    if dtype in (DataType.STRING, DataType.UNDEFINED) or any(dim < 0 for dim in dims):
        return None
    count = dtypes.element_count(dims)
    if memoryview(data).nbytes != dtypes.nbytes(dtype, count):
        return None
    return element_literals(dtypes.unpack(data, dtype, [count])[:max_elements], dtype)


def element_literals(flat: Array, dtype: DataType) -> list[str]:
    if dtype in COMPLEX_PARTS:
        return element_literals(flat.view(COMPLEX_PARTS[dtype].numpy), COMPLEX_PARTS[dtype])
    if dtype in (DataType.FLOAT, DataType.DOUBLE):
        return float_literals(flat, dtype.text)
    if dtype.is_float:
        return [shortest(float(value), dtype) for value in flat]
    return [str(int(value)) for value in flat]


def shortest(value: float, dtype: DataType) -> str:
    """The shortest decimal that rounds to the same element of `dtype`."""
    # Not for narrower types: their values have few digits, and they saturate, so that 8 would round to 7.5.
    if np.isfinite(value) and dtype.bits >= 8:
        for digits in range(1, 7):
            text = str(float(f"{value:.{digits}g}"))
            with np.errstate(over="ignore"):  # fewer digits may be out of range
                rounded = np.array(float(text)).astype(dtype.numpy)
            if float(rounded) == value:
                return text
    return str(value)


def raw_data(literals: Sequence[str], dtype: DataType, dims: Sequence[int]) -> bytes:
    """The raw data of elements given as number literals; floats are rounded.

    Raises ValueError for a wrong number of elements, and NumberOutOfRange for an element that `dtype` cannot
    represent.
    """
    if dtype in (DataType.STRING, DataType.UNDEFINED):
        raise ValueError(
            f'raw data of {dtype.text} must be written as bytes; got elements; write `base64 "…"`'
        )
    expected = dtypes.element_count(dims) * (2 if dtype in COMPLEX_PARTS else 1)
    if len(literals) != expected:
        raise ValueError(
            f"raw data of {dtype.text}{list(dims)} must have {expected} numbers; got {len(literals)}"
        )
    return bytes(dtypes.pack(elements(literals, dtype), dtype))


def elements(literals: Sequence[str], dtype: DataType) -> Array:
    if dtype in COMPLEX_PARTS:
        return floats(literals, COMPLEX_PARTS[dtype]).view(dtype.numpy)
    return floats(literals, dtype) if dtype.is_float else integers(literals, dtype)


def floats(literals: Sequence[str], dtype: DataType) -> Array:
    """The elements of a float type; raises NumberOutOfRange for a number that the type cannot represent."""
    if dtype in (DataType.FLOAT, DataType.DOUBLE):
        return float_values(literals, dtype.text)
    for index, text in enumerate(literals):
        if text[-1] == ")":
            raise NumberOutOfRange(
                f"an element must fit in {dtype.text}; got {text[:40]}; write the tensor as bytes to preserve NaN bits",
                index,
            )
    import ml_dtypes  # lazy: it loads slowly, and patterns of passes, which are text, have no such elements

    wide = np.array(list(map(float, literals)), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(dtype.numpy)
    # float() maps `1e400` to infinity; 8-bit types map out-of-range numbers to NaN, narrower ones saturate.
    is_not_finite = np.array(["n" in text.lower() for text in literals], bool)  # "inf" or "nan"
    widened = narrow.astype(np.float64)
    is_in_range = np.isfinite(widened) & (
        (dtype.bits >= 8) | (np.abs(wide) <= float(ml_dtypes.finfo(dtype.numpy).max))
    )
    is_valid = np.where(is_not_finite, equal_or_nan(wide, widened), is_in_range)
    for index in np.flatnonzero(~is_valid).tolist():
        raise NumberOutOfRange(
            f"an element must fit in {dtype.text}; got {literals[index].strip()[:40]}", index
        )
    return narrow


def equal_or_nan(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    return cast("NDArray[np.bool_]", (a == b) | (np.isnan(a) & np.isnan(b)))


def integers(literals: Sequence[str], dtype: DataType) -> Array:
    bits = 1 if dtype is DataType.BOOL else dtype.bits
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)
    values = parse_integers(literals, low, high, dtype.text)
    wide: np.dtype[Any] = np.dtype(np.uint64 if high >> 63 else np.int64)
    return np.array(values, wide).astype(dtype.numpy)
