"""ConstantOfShape: a tensor of a given shape filled with one value.

Spec: ai.onnx ConstantOfShape-9, -20, -21, -23, -24, -25, which differ in element types.  The attribute `value`, a tensor
of one element, gives the element and its type; the default is 0 of type float.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, numbers
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("ConstantOfShape", sizes_input=0, parameters=(0,))
CONSTANT_OF_SHAPE_VERSIONS = (9, 20, 21, 23, 24, 25)
ZERO = np.zeros(1, np.float32)


@op.convert((9, 0))
def by_expand(adapter: Adapter) -> AdaptedNode:
    """Expand a constant of one element."""
    value = adapter.inference.attributes.get("value")
    element = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return adapter.Expand(adapter.constant(element), adapter.input(0))


@op.infer(*CONSTANT_OF_SHAPE_VERSIONS)
def infer(inference: Inference) -> Result:
    shape = inference.dims(0)
    if fill(inference).size != 1:
        inference.fail(f"value must have one element; got {fill(inference).size}")
    if shape is not None and any(isinstance(n, int) and n < 0 for n in shape):
        inference.fail(f"sizes of the shape must be >= 0; got {shape}")
    return TensorType(DataType.of(fill(inference).dtype), shape)


@op.value(*CONSTANT_OF_SHAPE_VERSIONS)
def value(inference: Inference) -> Known | None:
    shape = inference.dims(0)
    sizes = None if shape is None else numbers(shape)
    if sizes is None or math.prod(sizes) > MAX_KNOWN_ELEMENTS or fill(inference).size != 1:
        return None
    return np.full(sizes, fill(inference).reshape(()))


def fill(inference: Inference) -> Array:
    """The attribute `value`, or its default."""
    array = inference.attributes.get("value", ZERO)
    assert isinstance(array, np.ndarray), "a tensor attribute is an array"
    return array


@op.eval(*CONSTANT_OF_SHAPE_VERSIONS)
def evaluate(input: Array, *, value: Array = ZERO, context: RunContext) -> Array:
    """input: [rank of the result] int64."""
    sizes = [int(n) for n in input.reshape(-1)]
    if min(sizes, default=0) < 0:
        raise EvaluationError(f"sizes of the shape must be >= 0; got {sizes}")
    if value.size != 1:
        raise EvaluationError(f"value must have one element; got {value.size}")
    check_result_bytes(context, sizes, value.dtype, "ConstantOfShape result")
    return np.full(sizes, value.reshape(()), value.dtype)
