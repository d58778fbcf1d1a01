"""Elements of `raw_data` as text, for all element types of fixed width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from sardonyx._src import dtypes
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.proto.record import Payload
from sardonyx._src.proto.text.numbers import Unfit, float_texts, float_values, whole_numbers

PARTS = {DataType.COMPLEX64: DataType.FLOAT, DataType.COMPLEX128: DataType.DOUBLE}


def raw_texts(data: Payload, dtype: DataType, dims: Sequence[int], most: int) -> list[str] | None:
    """The elements of raw data as text, the first `most` of them; None if the data does not fit dtype and dims.

    A complex element makes two texts, its real and its imaginary part.
    """
    if dtype in (DataType.STRING, DataType.UNDEFINED) or any(dim < 0 for dim in dims):
        return None
    if memoryview(data).nbytes != dtypes.nbytes(dtype, dtypes.element_count(dims)):
        return None
    return element_texts(dtypes.unpack(data, dtype, dims).reshape(-1)[:most], dtype)


def element_texts(flat: Array, dtype: DataType) -> list[str]:
    if dtype in PARTS:
        return element_texts(flat.view(PARTS[dtype].numpy), PARTS[dtype])
    if dtype in (DataType.FLOAT, DataType.DOUBLE):
        return float_texts(flat, dtype.text)
    if dtype.is_float:
        return [shortest(float(value), dtype) for value in flat]
    return [str(int(value)) for value in flat]


def shortest(value: float, dtype: DataType) -> str:
    """The float with as few digits as give the same element of `dtype`."""
    if np.isfinite(value) and dtype.bits >= 8:  # smaller ones have few digits, and round 8 down to 7.5
        for digits in range(1, 7):
            text = str(float(f"{value:.{digits}g}"))
            with np.errstate(over="ignore"):  # fewer digits may be more than the type has
                again = np.array(float(text)).astype(dtype.numpy)
            if float(again) == value:
                return text
    return str(value)


def raw_data(texts: Sequence[str], dtype: DataType, dims: Sequence[int]) -> bytes:
    """The raw data of elements that were written as text.

    Floats are rounded.  ValueError for a wrong number of elements; Unfit for one that `dtype` cannot hold, as a
    fraction where it has integers.
    """
    if dtype in (DataType.STRING, DataType.UNDEFINED):
        raise ValueError(
            f'raw data of {dtype.text} has no elements to write; give its bytes, as in `base64 "…"`'
        )
    wanted = dtypes.element_count(dims) * (2 if dtype in PARTS else 1)
    if len(texts) != wanted:
        raise ValueError(f"raw data of {dtype.text}{list(dims)} has {wanted} numbers, found {len(texts)}")
    return bytes(dtypes.pack(elements(texts, dtype).reshape(dims), dtype))


def elements(texts: Sequence[str], dtype: DataType) -> Array:
    if dtype in PARTS:
        return floats(texts, PARTS[dtype]).view(dtype.numpy)
    return floats(texts, dtype) if dtype.is_float else integers(texts, dtype)


def floats(texts: Sequence[str], dtype: DataType) -> Array:
    if dtype in (DataType.FLOAT, DataType.DOUBLE):
        return float_values(texts, dtype.text)
    for index, text in enumerate(texts):
        if text[-1] == ")":
            raise Unfit(
                f"{text[:40]} does not fit {dtype.text}; give the bytes of the tensor to keep a NaN's bits",
                index,
            )
    wide = np.array(list(map(float, texts)), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(dtype.numpy)
    # float() makes `1e400` infinite; types of 8 bits make a NaN of what is too large, smaller ones their largest number.
    named = np.array(["n" in text.lower() for text in texts], bool)
    back = narrow.astype(np.float64)
    number = np.isfinite(back) & (
        (dtype.bits >= 8) | (np.abs(wide) <= float(ml_dtypes.finfo(dtype.numpy).max))
    )
    good = np.where(named, equal_or_nan(wide, back), number)
    for index in np.flatnonzero(~good).tolist():
        raise Unfit(f"{texts[index].strip()[:40]} does not fit {dtype.text}", index)
    return narrow


def equal_or_nan(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    return cast("NDArray[np.bool_]", (a == b) | (np.isnan(a) & np.isnan(b)))


def integers(texts: Sequence[str], dtype: DataType) -> Array:
    bits = 1 if dtype is DataType.BOOL else dtype.bits
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)
    values = whole_numbers(texts, low, high, dtype.text)
    wide: np.dtype[Any] = np.dtype(np.uint64 if high >> 63 else np.int64)
    return np.array(values, wide).astype(dtype.numpy)
