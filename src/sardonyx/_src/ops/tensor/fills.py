"""ConstantFill and GivenTensorFill: tensors of one value, or of listed values.

Spec: ai.onnx ConstantFill-1, GivenTensorFill-1, experiments of the first releases that later ones dropped.  The
shape is the attribute `shape`; or that of the input; or the elements of the input when `input_as_shape` is set.
`extra_shape` goes behind what comes from the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.inference import Inference, Result

constant_fill = Operator(
    "ConstantFill", about="a tensor of one value, by the shape of a tensor, its elements or an attribute."
)
given_tensor_fill = Operator("GivenTensorFill", about="a tensor of the values that an attribute lists.")
CONSTANTS = (DataType.FLOAT, DataType.INT32, DataType.INT64, DataType.BOOL)


@constant_fill.eval(1)
def eval_constant(
    input: Array | None = None,
    *,
    dtype: int,
    value: float,
    shape: tuple[int, ...] | None = None,
    extra_shape: tuple[int, ...] = (),
    input_as_shape: int = 0,
    call: Call,
) -> Array:
    if dtype not in CONSTANTS:
        names = ", ".join(t.name for t in CONSTANTS)
        raise EvaluationError(f"dtype is {dtype}, where one of {names} is wanted")
    sizes = filled_shape(input, shape, extra_shape, bool(input_as_shape))
    elements = DataType.numbered(dtype).numpy
    claim(call, sizes, elements, "ConstantFill result")
    return np.full(sizes, value).astype(elements)


@given_tensor_fill.eval(1)
def eval_given(
    input: Array | None = None,
    *,
    values: tuple[float, ...] = (),
    shape: tuple[int, ...] | None = None,
    extra_shape: tuple[int, ...] = (),
    input_as_shape: int = 0,
) -> Array:
    """The elements are of the type of the input, float32 without one."""
    sizes = filled_shape(input, shape, extra_shape, bool(input_as_shape))
    if math.prod(sizes) != len(values):
        raise EvaluationError(f"{len(values)} values do not fill shape {sizes}")
    return np.array(values, np.float32 if input is None else input.dtype).reshape(sizes)


def filled_shape(
    input: Array | None, shape: tuple[int, ...] | None, extra: Sequence[int], input_as_shape: bool
) -> list[int]:
    """The shape of the result; raises EvaluationError when it is not given, twice, or negative."""
    if (input is None) == (shape is None) or (input is None and (extra or input_as_shape)):
        raise EvaluationError(
            "attribute shape, or an input and its extra_shape and input_as_shape, are wanted"
        )
    if input is None:
        sizes = list(shape or ())
    else:
        sizes = [*(map(int, input.reshape(-1)) if input_as_shape else input.shape), *extra]
    if min(sizes, default=0) < 0:
        raise EvaluationError(f"shape is {sizes}, where no size may be negative")
    return sizes


# --- inference -------------------------------------------------------------------------------


@constant_fill.infer(1)
def infer_constant(t: Inference) -> Result:
    return TensorType(DataType.numbered(t.integer("dtype")), filled_dims(t))


@given_tensor_fill.infer(1)
def infer_given(t: Inference) -> Result:
    dtype = t.dtype(0) if t.has(0) else DataType.FLOAT
    return None if dtype is None else TensorType(dtype, filled_dims(t))


def filled_dims(t: Inference) -> Shape | None:
    if not t.has(0):
        return t.integers("shape")
    dims = t.dims(0) if t.attributes.get("input_as_shape") else t.shape(0)
    return None if dims is None else (*dims, *(t.integers("extra_shape") or ()))
