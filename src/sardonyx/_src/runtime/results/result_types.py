"""Checks of the kind (tensor, sequence, map, ...) and element type of results against the model's declarations."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import (
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ops.run_values import RuntimeValue

TENSOR_CLASSES = (np.ndarray, np.generic)  # np.generic: the numbers in maps are NumPy scalars


def matches_type(value: RuntimeValue, declared: Type | None) -> bool:
    """Whether the value has the declared kind and element type, whatever its shape."""
    match declared:
        case TensorType():
            return isinstance(value, TENSOR_CLASSES) and value.dtype == declared.dtype.numpy
        case SparseTensorType():  # the reference engine computes with dense arrays instead
            return isinstance(value, np.ndarray | SparseTensor)
        case SequenceType():
            return isinstance(value, list) and all(matches_type(element, declared.elem) for element in value)
        case OptionalType():
            return value is None or matches_type(value, declared.elem)
        case MapType():
            return isinstance(value, dict) and all(
                isinstance(key, key_class(declared)) and matches_type(element, declared.value)
                for key, element in value.items()
            )
    return True


def key_class(declared: MapType) -> type[int | str]:
    """The Python type of the keys of a map."""
    return str if declared.key is DataType.STRING else int


def describe_value(value: RuntimeValue) -> str:
    """The kind and element type of a value, in ONNX's notation of types: `seq(float)`, `map(int64, float)`, `none`."""
    match value:
        case np.ndarray() | np.generic() | SparseTensor():
            return "sparse_tensor" if isinstance(value, SparseTensor) else DataType.of(value.dtype).text
        case list():
            return f"seq({', '.join(dict.fromkeys(map(describe_value, value)))})"
        case dict():
            keys = dict.fromkeys("string" if isinstance(key, str) else "int64" for key in value)
            return f"map({', '.join([*keys, *dict.fromkeys(map(describe_value, value.values()))])})"
    return "none"
