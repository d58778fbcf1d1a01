"""Tensor data in JSON: lists of numbers, booleans or strings, either flat or nested according to the shape.

Spec: Open Inference Protocol v2, Tensor Data.  JSON has no NaN and infinities: they are the tokens of JavaScript.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.ir import Array
from sardonyx._src.serve.protocol.datatypes import ELEMENT_TYPES
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.tensor_shapes import check_count

# Errors of conversions for numbers that an element type cannot represent.
UNREPRESENTABLE = (struct.error, OverflowError, FloatingPointError)
MAX_PACKINGS = 256  # pairs of code and count whose packing function is cached
MAX_TYPE_CHECKS = (
    64  # number of elements up to which their types are tested one by one; beyond, comparing values is faster
)
# The code by which `struct` packs the elements of a datatype.  Elements of BF16 are packed as FP64 and rounded afterwards.
PACK_CODES = {
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    "INT64": "q",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    "UINT64": "Q",
    "FP16": "e",
    "FP32": "f",
    "FP64": "d",
    "BF16": "d",
}
PACKED_DTYPES = {d: np.dtype(np.float64) if d == "BF16" else ELEMENT_TYPES[d].numpy for d in PACK_CODES}


def parse_data(name: str, datatype: str, shape: tuple[int, ...], data: object) -> Array:
    """The tensor of an input, which may be read-only.

    Raises RequestFailure for data with another number, nesting or type of elements than declared.
    """
    if type(data) is not list:
        raise invalid(name, f"must be a list; got {shown(data)}")
    elements = flatten(name, shape, data) if data and type(data[0]) is list else data
    check_count(name, shape, len(elements))
    return elements_array(name, datatype, elements).reshape(shape)


def flatten(name: str, shape: tuple[int, ...], data: list[object]) -> list[object]:
    """The elements of nested lists; raises RequestFailure unless they are nested according to the shape."""
    if shape[:1] != (len(data),):
        raise invalid(name, f"must be flat, or nested as the shape {list(shape)}; got {len(data)} lists")
    level = data
    for axis, dim in enumerate(shape[1:], 1):
        rows = [row for row in level if isinstance(row, list) and len(row) == dim]
        if len(rows) < len(level):
            raise invalid(name, f"must be flat, or nested as the shape {list(shape)}; axis {axis} differs")
        level = list(chain.from_iterable(rows))
    return level


def elements_array(name: str, datatype: str, elements: list[object], offset: int = 0) -> Array:
    """The elements as an array.  Each must be representable in the datatype, except that floats are rounded.

    offset: the index of the first element in the tensor, for messages.
    """
    if datatype in PACK_CODES:
        try:
            return number_array(name, datatype, elements, offset)
        except UNREPRESENTABLE:
            kind, text = "numbers" if is_float(datatype) else "integers", ELEMENT_TYPES[datatype].text
            why = f"must have {kind} that {text} can represent; got {misfit(datatype, elements, offset)}"
            raise invalid(name, why) from None
    if datatype == "BOOL":
        require_types(name, elements, {bool}, "true or false", offset)
        return np.array(elements, bool)
    require_types(name, elements, {str}, "strings", offset)
    strings = np.empty(len(elements), object)
    strings[:] = elements
    return strings


def number_array(name: str, datatype: str, elements: Sequence[object], offset: int = 0) -> Array:
    """Numbers as an array.  Raises RequestFailure for booleans, and UNREPRESENTABLE for numbers out of range."""
    packed = packing(PACK_CODES[datatype], len(elements))(*elements)
    numbers: Array = np.frombuffer(packed, PACKED_DTYPES[datatype])
    if may_have_booleans(elements, numbers):
        if is_float(datatype):
            require_types(name, elements, {int, float}, "numbers", offset)
        else:
            require_types(name, elements, {int}, "integers", offset)
    if datatype != "BF16":
        return numbers
    with np.errstate(over="raise"):
        return numbers.astype(ELEMENT_TYPES[datatype].numpy)


def is_float(datatype: str) -> bool:
    return ELEMENT_TYPES[datatype].is_float


@lru_cache(MAX_PACKINGS)
def packing(code: str, count: int) -> Callable[..., bytes]:
    """A function that packs `count` numbers in one call.

    It raises an error for strings, None, fractions where integers are expected, and numbers out of range.
    """
    return struct.Struct(f"<{count}{code}").pack


def may_have_booleans(elements: Sequence[object], numbers: Array) -> bool:
    """Whether some elements may be booleans, which `struct` accepts as 0 and 1.

    For up to MAX_TYPE_CHECKS elements the answer is exact; for more, it is whether any number is 0 or 1.
    """
    count = len(elements)
    if count <= MAX_TYPE_CHECKS:
        return bool in set(map(type, elements))
    return bool(np.count_nonzero(numbers) < count or np.count_nonzero(numbers != 1) < count)


def misfit(datatype: str, elements: Sequence[object], offset: int) -> str:
    """The first element that the datatype cannot represent, as text for a message; found by bisection."""
    while len(elements) > 1:
        first = elements[: len(elements) // 2]
        if is_representable(datatype, first):
            elements, offset = elements[len(first) :], offset + len(first)
        else:
            elements = first
    return f"{shown(elements[0])} (element {offset})"


def is_representable(datatype: str, elements: Sequence[object]) -> bool:
    try:
        number_array("", datatype, elements)
    except (*UNREPRESENTABLE, RequestFailure):
        return False
    return True


def require_types(
    name: str, elements: Sequence[object], kinds: set[type], expected: str, offset: int
) -> None:
    if not set(map(type, elements)) <= kinds:
        index, element = next((i, e) for i, e in enumerate(elements, offset) if type(e) not in kinds)
        raise invalid(name, f"must have {expected}; got {shown(element)} (element {index})")


def invalid(name: str, why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, f"data of input {name!r} {why}")


def json_elements(name: str, tensor: Array) -> Array | list[object]:
    """The elements of an output in C order, in a form that the JSON encoder accepts.

    Raises RequestFailure for strings that are not UTF-8.
    """
    flat = tensor.reshape(-1)
    if flat.dtype.kind in "OT":
        strings: list[object] = flat.tolist()
        try:
            "".join(map(str, strings)).encode()
        except UnicodeEncodeError:
            why = f"output {name!r} has bytes that are not UTF-8, which JSON cannot express: request binary data"
            raise RequestFailure(FailureKind.INVALID, why) from None
        return strings
    if flat.dtype.isbuiltin != 1:  # bfloat16, which the encoder does not know
        flat = flat.astype(np.float32)
    return flat if flat.flags.c_contiguous else np.ascontiguousarray(flat)
