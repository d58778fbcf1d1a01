"""A result's kind and element type held against what the model declares of it."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue


def is_a(value: RuntimeValue, declared: Type | None) -> bool:
    """Whether the value is of the declared kind and element type; sizes are not looked at."""
    match declared:
        case TensorType():
            return isinstance(value, np.ndarray) and value.dtype == declared.dtype.numpy
        case SparseTensorType():  # the reference engine computes with dense ones
            return isinstance(value, np.ndarray | SparseTensor)
        case SequenceType():
            return isinstance(value, list) and all(is_a(one, declared.elem) for one in value)
        case OptionalType():
            return value is None or is_a(value, declared.elem)
        case MapType():
            return isinstance(value, dict)
    return True


def described(value: RuntimeValue) -> str:
    """The kind and element type of a value, in the words of a type: `seq(float)`, `map`, `none`."""
    match value:
        case np.ndarray() | SparseTensor():
            return DataType.of(value.dtype).text if isinstance(value, np.ndarray) else "sparse_tensor"
        case list():
            return f"seq({', '.join(dict.fromkeys(map(described, value)))})"
        case dict():
            return "map"
    return "none"
