"""Conversion of string tensors: the byte strings of `string_data` to arrays of `str` and back.

Spec: onnx.proto, TensorProto.string_data: each entry is UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.dtypes.packing import Array, element_count
from sardonyx._src.dtypes.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray


def strings(values: Sequence[bytes | memoryview], shape: Sequence[int]) -> NDArray[np.object_]:
    """The array of `str` that UTF-8 byte strings hold; it is read-only.

    Bytes that are not UTF-8 become surrogate escapes, which `string_data` turns back into the same bytes.
    Raises ValueError if the number of strings differs from the number of elements of `shape`.
    """
    expected = element_count(shape)
    if len(values) != expected:
        raise ValueError(
            f"string_data of STRING{list(shape)} must have {expected} entries; got {len(values)}; "
            "correct the dims or the data"
        )
    flat = np.empty(expected, dtype=np.object_)
    flat[:] = [str(value, "utf-8", "surrogateescape") for value in values]
    array = flat.reshape(shape)
    array.flags.writeable = False
    return array


def string_data(array: Array) -> list[bytes]:
    """The elements in C order as UTF-8; surrogate escapes become the bytes that they represent.

    array: has dtype `object`, `str_` or StringDType; elements that are `bytes` are used as they are.
    Raises TypeError for another dtype or for an element that is no string, and UnicodeEncodeError, a ValueError, for a
    surrogate that escapes no byte.
    """
    if DataType.of(array.dtype) is not DataType.STRING:
        raise TypeError(
            f"the array must have a dtype of strings (object, str_ or StringDType); got {array.dtype}"
        )
    return [_encode(index, value) for index, value in enumerate(array.reshape(-1).tolist())]


def _encode(index: int, value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return value
    raise TypeError(
        f"element {index} of the string tensor must be str; got {value!r} ({type(value).__name__})"
    )
