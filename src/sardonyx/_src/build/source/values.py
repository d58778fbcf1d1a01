"""Names, types and data as Python expressions."""

from __future__ import annotations

import base64
import keyword
import math
import re

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import (
    Array,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensor,
    SparseTensorType,
    Tensor,
    TensorType,
    Type,
)
from sardonyx._src.ir.types import OpaqueType

MAX_LITERAL = 64  # elements of an array up to which it is written as a list, not in base64
RESERVED = frozenset({"b", "np", "sx", "base64", "weights", "model", "ir"})


class PythonNames:
    """Unique Python identifiers for the names of values, functions and parameters."""

    def __init__(self) -> None:
        self.taken = {*RESERVED, *keyword.kwlist, *keyword.softkwlist}

    def take(self, name: str) -> str:
        """An unused identifier similar to `name`."""
        stem = re.sub(r"\W", "_", name, flags=re.ASCII) or "value"
        stem = stem if not stem[0].isdigit() else f"_{stem}"
        result, count = stem, 1
        while result in self.taken:
            count += 1
            result = f"{stem}_{count}"
        self.taken.add(result)
        return result


def dtype_text(dtype: DataType) -> str:
    return f"sx.DataType.{dtype.name}"


def type_text(type: Type | None) -> str:
    """A type as an expression over `sardonyx.ir`."""
    match type:
        case None:
            return "None"
        case TensorType():
            return f"b.tensor({tensor_arguments(type)})"
        case SparseTensorType():
            return f"ir.SparseTensorType({dtype_text(type.dtype)}, b.tensor({tensor_arguments(type)}).shape)"
        case SequenceType():
            return f"ir.SequenceType({type_text(type.elem)})"
        case OptionalType():
            return f"ir.OptionalType({type_text(type.elem)})"
        case MapType():
            return f"ir.MapType({dtype_text(type.key)}, {type_text(type.value)})"
        case OpaqueType():
            return f"ir.OpaqueType({type.domain!r}, {type.name!r})"


def tensor_arguments(type: TensorType | SparseTensorType) -> str:
    """The arguments of `b.tensor`, and of `b.input` after the name."""
    return f"{type.dtype.text!r}, {shape_text(type.shape)}"


def shape_text(shape: Shape | None) -> str:
    if shape is None:
        return "None"
    return repr([dim if isinstance(dim, int) or dim is None else str(dim) for dim in shape])


def tensor_text(tensor: Tensor) -> str:
    """A tensor as an expression: an array if NumPy has the element type, else a Tensor."""
    array = tensor.numpy()
    if tensor.dtype is DataType.STRING:
        return f"np.array({nested_text(array)}, object).reshape({array.shape})"
    if array.size > MAX_LITERAL:
        return data_text(tensor, array)
    if tensor.dtype.numpy.type.__module__ != "numpy":
        return f"sx.Tensor.of({nested_text(array)}, {dtype_text(tensor.dtype)})" + reshaped(array)
    return f"np.array({nested_text(array)}, np.{array.dtype.name}){reshaped(array)}"


def reshaped(array: Array) -> str:
    """A call that restores the shape of an array without elements: a list does not record it."""
    return f".reshape({array.shape})" if array.size == 0 and array.ndim > 1 else ""


def data_text(tensor: Tensor, array: Array) -> str:
    """The bytes of an array in base64."""
    text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    dtype = f"{dtype_text(tensor.dtype)}.numpy"
    return f'np.frombuffer(base64.b64decode("{text}"), {dtype}).reshape({array.shape})'


def nested_text(array: Array) -> str:
    """Nested lists of the elements."""
    plain = array if array.dtype.kind in "biufcO" else array.astype(np.float64)
    return list_text(plain.tolist())


def list_text(value: object) -> str:
    return f"[{', '.join(map(list_text, value))}]" if isinstance(value, list) else number_text(value)


def number_text(value: object) -> str:
    """A number or string as source text that evaluates to the same value."""
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    if isinstance(value, complex):
        return f"complex({number_text(value.real)}, {number_text(value.imag)})"
    return repr(value)


def sparse_text(tensor: SparseTensor) -> str:
    values, indices = literal_tensor_text(tensor.values), literal_tensor_text(tensor.indices)
    return f"sx.SparseTensor({values}, {indices}, {tensor.shape})"


def literal_tensor_text(tensor: Tensor) -> str:
    return f"sx.Tensor.of({tensor_text(tensor)}, {dtype_text(tensor.dtype)})"
