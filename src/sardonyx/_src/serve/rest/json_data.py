"""Tensor data in JSON: lists of numbers, booleans or strings, flat or nested as the shape is.

Spec: Open Inference Protocol v2, Tensor Data.  NaN and infinities, which JSON lacks, are the tokens of JavaScript.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Literal, cast

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.serve.datatypes import ELEMENT_TYPES
from sardonyx._src.serve.failures import FailureKind, RequestFailure
from sardonyx._src.serve.tensor_shapes import check_count

UNREPRESENTABLE = (TypeError, OverflowError, FloatingPointError)  # what conversions raise


def parse_data(name: str, datatype: str, shape: tuple[int, ...], data: object) -> Array:
    """The tensor of an input; RequestFailure for data of another count, nesting or type of elements."""
    if not isinstance(data, list):
        raise invalid(name, f"must be a list; got {shown(data)}")
    elements = flatten(name, shape, data) if data and type(data[0]) is list else data
    check_count(name, shape, len(elements))
    return elements_array(name, ELEMENT_TYPES[datatype], elements).reshape(shape)


def flatten(name: str, shape: tuple[int, ...], data: list[object]) -> list[object]:
    """The elements of lists that are nested as the shape is."""
    if shape[:1] != (len(data),):
        raise invalid(name, f"must be flat, or nested as the shape {list(shape)}; got {len(data)} lists")
    level = data
    for axis, dim in enumerate(shape[1:], 1):
        rows = [row for row in level if isinstance(row, list) and len(row) == dim]
        if len(rows) < len(level):
            raise invalid(name, f"must be flat, or nested as the shape {list(shape)}; axis {axis} differs")
        level = list(chain.from_iterable(rows))
    return level


def elements_array(name: str, element_type: DataType, elements: list[object]) -> Array:
    """The elements as an array; every one must be representable, floats up to rounding."""
    if element_type is DataType.STRING:
        require_types(name, elements, {str}, "strings")
        strings = np.empty(len(elements), object)
        strings[:] = elements
        return strings
    if element_type is DataType.BOOL:
        require_types(name, elements, {bool}, "true or false")
        return np.array(elements, bool)
    convert = float_array if element_type.is_float else integer_array
    try:
        return convert(name, element_type, elements)
    except UNREPRESENTABLE:
        expected = "numbers" if element_type.is_float else "integers"
        why = f"must have {expected} that {element_type.text} can represent; got {misfit(element_type, elements)}"
        raise invalid(name, why) from None


def float_array(name: str, element_type: DataType, elements: list[object]) -> Array:
    wide = np.frombuffer(array("d", cast("list[float]", elements)), np.float64)  # refuses strings and None
    if ((wide == 0) | (wide == 1)).any():  # perhaps false or true, which array takes for numbers
        require_types(name, elements, {int, float}, "numbers")
    if element_type is DataType.DOUBLE:
        return wide
    with np.errstate(over="raise"):
        return wide.astype(element_type.numpy)


def integer_array(name: str, element_type: DataType, elements: list[object]) -> Array:
    code: Literal["Q", "q"] = "Q" if element_type is DataType.UINT64 else "q"
    dtype = np.uint64 if code == "Q" else np.int64
    wide = np.frombuffer(array(code, cast("list[int]", elements)), dtype)  # refuses floats as well
    if ((wide == 0) | (wide == 1)).any():
        require_types(name, elements, {int}, "integers")
    if element_type.bits == 64:
        return wide
    bounds = np.iinfo(element_type.numpy)
    if wide.size and not (bounds.min <= wide.min() and wide.max() <= bounds.max):
        raise OverflowError
    return wide.astype(element_type.numpy)


def misfit(element_type: DataType, elements: Sequence[object]) -> str:
    """The first element that the type cannot represent, as a message names it."""
    kinds = (int, float) if element_type.is_float else (int,)
    for index, element in enumerate(elements):
        if type(element) not in kinds:
            return f"{shown(element)} (element {index})"
        convert = float_array if element_type.is_float else integer_array
        try:
            convert("", element_type, [element])
        except UNREPRESENTABLE:
            return f"{shown(element)} (element {index})"
    return "others"


def require_types(name: str, elements: list[object], kinds: set[type], expected: str) -> None:
    if not set(map(type, elements)) <= kinds:
        index, element = next((i, e) for i, e in enumerate(elements) if type(e) not in kinds)
        raise invalid(name, f"must have {expected}; got {shown(element)} (element {index})")


def invalid(name: str, why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, f"data of input {name!r} {why}")


def json_elements(name: str, tensor: Array) -> Array | list[object]:
    """The elements of an output in C order, in a form that the encoder takes.

    Raises RequestFailure for strings that are not UTF-8.
    """
    flat = tensor.reshape(-1)
    if flat.dtype.kind == "O" or flat.dtype.kind == "T":
        strings: list[object] = flat.tolist()
        try:
            "".join(map(str, strings)).encode()
        except UnicodeEncodeError:
            why = f"output {name!r} has bytes that are not UTF-8, which JSON cannot express: request binary data"
            raise RequestFailure(FailureKind.INVALID, why) from None
        return strings
    if flat.dtype.isbuiltin != 1:  # bfloat16, which the encoder does not know
        flat = flat.astype(np.float32)
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        return flat.tolist()
    return np.ascontiguousarray(flat)
