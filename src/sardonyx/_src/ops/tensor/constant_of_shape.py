"""ConstantOfShape: a tensor of a given shape, all of one value.

Spec: ai.onnx ConstantOfShape-9, -20, -21, -23, -24, -25, which differ in element types.  The value and the element type
are those of `value`, a tensor of one element; without it they are 0 and float32.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import LIMIT, numbers

op = Operator("ConstantOfShape")
VERSIONS = (9, 20, 21, 23, 24, 25)
ZERO = np.zeros(1, np.float32)


@op.convert((9, 0))
def by_expand(c: Change) -> Converted:
    """One element expanded."""
    value = c.t.attributes.get("value")
    element = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return c.Expand(c.constant(element), c.input(0))


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    shape = t.dims(0)
    if fill(t).size != 1:
        t.fail(f"value has {fill(t).size} elements, where one is wanted")
    if shape is not None and any(isinstance(n, int) and n < 0 for n in shape):
        t.fail("the shape has a negative size")
    return TensorType(DataType.of(fill(t).dtype), shape)


@op.value(*VERSIONS)
def value(t: Inference) -> Known | None:
    shape = t.dims(0)
    sizes = None if shape is None else numbers(shape)
    if sizes is None or math.prod(sizes) > LIMIT or fill(t).size != 1:
        return None
    return np.full(sizes, fill(t).reshape(()))


def fill(t: Inference) -> Array:
    found = t.attributes.get("value", ZERO)
    assert isinstance(found, np.ndarray), "a tensor attribute is an array"
    return found


@op.eval(*VERSIONS)
def evaluate(input: Array, *, value: Array = ZERO, call: Call) -> Array:
    """input: [rank of the result] int64."""
    sizes = [int(n) for n in input.reshape(-1)]
    if min(sizes, default=0) < 0:
        raise EvaluationError(f"shape is {sizes}, where no size may be negative")
    if value.size != 1:
        raise EvaluationError(f"value has {value.size} elements, where one is wanted")
    claim(call, sizes, value.dtype, "ConstantOfShape result")
    return np.full(sizes, value.reshape(()), value.dtype)
