"""Constant: a tensor given by the attributes of the node.

Spec: ai.onnx Constant-1, -9, -11, -12, -13, -19, -21, -23, -24, -25.  Versions 1 and 9 have only the attribute `value`;
11 adds `sparse_value`, which gives a dense result, 12 the `value_*` attributes; versions from 13 on add element types.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, SparseTensor, Tensor, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS
from sardonyx._src.ops.version_adapter import FIRST_CONSTANTS, AdaptedNode, Adapter

op = Operator("Constant")
CONSTANT_VERSIONS = (1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
MAX_DENSE_ELEMENTS = (
    1 << 24
)  # the largest sparse value that a conversion stores as a dense tensor in the model
LITERAL_TYPES = {
    "value_float": DataType.FLOAT,
    "value_floats": DataType.FLOAT,
    "value_int": DataType.INT64,
    "value_ints": DataType.INT64,
    "value_string": DataType.STRING,
    "value_strings": DataType.STRING,
}
VALUE_ATTRIBUTES = ("value", "sparse_value", *LITERAL_TYPES)


@op.infer(*CONSTANT_VERSIONS)
def infer(inference: Inference) -> Result:
    name, literal = only_value(inference)
    if isinstance(literal, SparseTensor):
        return TensorType(literal.dtype, literal.shape)
    if isinstance(literal, np.ndarray):
        return TensorType(DataType.of(literal.dtype), literal.shape)
    return TensorType(LITERAL_TYPES[name], (len(literal),) if isinstance(literal, tuple) else ())


@op.value(*CONSTANT_VERSIONS)
def value(inference: Inference) -> Known | None:
    name, literal = only_value(inference)
    if isinstance(literal, SparseTensor):
        return None
    values = literal if isinstance(literal, np.ndarray) else np.array(literal, LITERAL_TYPES[name].numpy)
    return values if values.size <= MAX_KNOWN_ELEMENTS and values.dtype != object else None


def only_value(inference: Inference) -> tuple[str, object]:
    """The name and value of the one value attribute; raises InferenceError unless there is exactly one."""
    values = given_values(inference.attributes)
    if len(values) != 1:
        inference.fail(value_count_message(values))
    return next(iter(values.items()))


def given_values(attributes: Mapping[str, object]) -> dict[str, object]:
    """The attributes among VALUE_ATTRIBUTES that are given."""
    return {name: attributes[name] for name in VALUE_ATTRIBUTES if attributes.get(name) is not None}


def value_count_message(values: Mapping[str, object]) -> str:
    return f"exactly one of {', '.join(VALUE_ATTRIBUTES)} must be given; got {' and '.join(values) or 'none'}"


@op.convert((12, 11))
def to_11(adapter: Adapter) -> AdaptedNode:
    """Replace a `value_*` attribute by a tensor."""
    if any(a.ref for a in adapter.node.attributes.values()):
        adapter.refuse(
            "the value must not be an attribute parameter of the function; inline the function first"
        )
    name, literal = only_value(adapter.inference)
    return (
        adapter.same()
        if name not in LITERAL_TYPES
        else adapter.same(drop=(name,), value=Tensor.of(literal, LITERAL_TYPES[name]))
    )


@op.convert((11, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    """Replace a sparse value by a dense tensor."""
    literal = adapter.node.attributes.get("sparse_value")
    if literal is None:
        return adapter.same()
    assert isinstance(literal.value, SparseTensor), "the value of sparse_value is sparse"
    if math.prod(literal.value.shape) > MAX_DENSE_ELEMENTS:
        adapter.refuse(
            f"a sparse value must have at most {MAX_DENSE_ELEMENTS} elements to become dense; got {math.prod(literal.value.shape)}"
        )
    return adapter.same(drop=("sparse_value",), value=Tensor.of(literal.value.numpy(), literal.value.dtype))


@op.convert((9, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    """Turn types that Constant-1 lacks into initializers."""
    value = adapter.node.attributes["value"].value
    assert isinstance(value, Tensor), "the value of a Constant is a tensor"
    return (
        adapter.same()
        if value.dtype in FIRST_CONSTANTS
        else adapter.insertion_point.initializer(value, adapter)
    )


@op.eval(*CONSTANT_VERSIONS)
def evaluate(
    *,
    value: Array | None = None,
    sparse_value: SparseTensor | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
    value_string: str | None = None,
    value_strings: tuple[str, ...] | None = None,
    context: RunContext,
) -> Array:
    """The tensor of `value` or `sparse_value`; a vector for a list (`value_ints`); a scalar for a number or string.

    Raises EvaluationError unless exactly one attribute is given.
    """
    literals = (
        value,
        sparse_value,
        value_float,
        value_floats,
        value_int,
        value_ints,
        value_string,
        value_strings,
    )
    values = given_values(dict(zip(VALUE_ATTRIBUTES, literals, strict=True)))
    if len(values) != 1:
        raise EvaluationError(value_count_message(values))
    ((name, literal),) = values.items()
    if isinstance(literal, SparseTensor):
        check_result_bytes(context, literal.shape, literal.dtype.numpy, "Constant result")
        return literal.numpy(context.limits.bytes)
    return literal if isinstance(literal, np.ndarray) else np.array(literal, LITERAL_TYPES[name].numpy)
