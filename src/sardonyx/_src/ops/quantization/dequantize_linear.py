"""DequantizeLinear: y = (x - x_zero_point) * x_scale.

Spec: ai.onnx DequantizeLinear-10, -13, -19, -21, -23, -24, -25, -28.  13 adds scales along `axis`, 19 float8 and scales of
narrow floats, 21 blocks, 23 `output_dtype`; the others add element types.  Up to 21 the product is rounded once, to the
type of x_scale.  From 23 on the multiplication is defined in the type of the result, so both factors are rounded to that
type before.  A scale of type float8e8m0 needs an output_dtype, since no result can have the type of the scale.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.quantization.conversion import CastRule, convert, to_numpy_type
from sardonyx._src.ops.quantization.granularity import (
    broadcast_parameter,
    check_granularity,
    check_same_count,
)
from sardonyx._src.ops.quantization.quantize_linear import broadcast_along_axis, scalar_of
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.shapes import check_one_element
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "DequantizeLinear", tolerance="rounding", fixed_rounding=True, under_permutation="per_tensor_quantization"
)


@op.eval(10)
def eval_10(x: Array, x_scale: Array, x_zero_point: Array | None = None) -> Array:
    if x_scale.size != 1:
        raise EvaluationError(f"x_scale must be a scalar before version 13; got shape {list(x_scale.shape)}")
    return eval_21(x, x_scale, x_zero_point, axis=0, block_size=0)


@op.eval(13, 19)
def eval_13(x: Array, x_scale: Array, x_zero_point: Array | None = None, *, axis: int) -> Array:
    return eval_21(x, x_scale, x_zero_point, axis=axis, block_size=0)


@op.eval(21)
def eval_21(
    x: Array, x_scale: Array, x_zero_point: Array | None = None, *, axis: int, block_size: int
) -> Array:
    difference, scale = factors(x, x_scale, x_zero_point, axis, block_size)
    return product(difference, promote_to_float32(scale), DataType.of(x_scale.dtype))


@op.eval(23, 24, 25, 28)
def evaluate(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
) -> Array:
    """x, result: of the same shape; x_scale, x_zero_point: one element, [size of axis], or one for each block."""
    to = output_type(output_dtype, DataType.of(x_scale.dtype))
    difference, scale = factors(x, x_scale, x_zero_point, axis, block_size)
    return product(
        promote_to_float32(convert(difference, to, CastRule())),
        promote_to_float32(convert(scale, to, CastRule())),
        to,
    )


def output_type(output_dtype: int, scale: DataType) -> DataType:
    """The type of y; raises EvaluationError unless it is a supported float type."""
    to = scale if output_dtype == 0 else DataType.from_number(output_dtype)
    if to not in (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16):
        what = "the type of x_scale" if output_dtype == 0 else "output_dtype"
        raise EvaluationError(f"{what} must be FLOAT, FLOAT16 or BFLOAT16; got {to.name}")
    return to


def factors(
    x: Array, scale: Array, zero_point: Array | None, axis: int, block_size: int
) -> tuple[Array, Array]:
    """x - x_zero_point, exact (as integers or float32), and the scales in a shape that broadcasts against x."""
    if block_size < 0:
        raise EvaluationError(f"block_size must be positive or 0 for none; got {block_size}")
    factor = broadcast_parameter(scale, x.shape, axis, block_size, "x_scale")
    if zero_point is None:
        return to_numpy_type(x), factor
    if zero_point.size != scale.size:
        what = f"x_zero_point must have the shape of x_scale, {list(scale.shape)}"
        raise EvaluationError(f"{what}; got {list(zero_point.shape)}")
    shift = to_numpy_type(broadcast_parameter(zero_point, x.shape, axis, block_size, "x_zero_point"))
    wide = to_numpy_type(x)
    if wide.dtype.kind in "iu":
        wide, shift = wide.astype(np.int64), shift.astype(np.int64)
    with np.errstate(all="ignore"):
        return wide - shift, factor


def product(difference: Array, scale: Array, to: DataType) -> Array:
    """difference * scale, computed in float32 and rounded to `to`."""
    with np.errstate(all="ignore"):
        return convert(difference.astype(np.float32) * scale, to, CastRule())


# --- conversion ------------------------------------------------------------------------------


@op.convert((10, 13))
def convert_10_to_13(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), *(scalar_of(adapter, i) for i in (1, 2))])


@op.convert((13, 10))
def convert_13_to_10(adapter: Adapter) -> AdaptedNode:
    """Keep the node for one scale, which is all that version 10 supports; decompose it for scales along an axis."""
    if adapter.inference.shape(1) in ((), (1,)):
        return adapter.same([adapter.input(0), *(scalar_of(adapter, i) for i in (1, 2))], drop=("axis",))
    return decompose(adapter)


@op.convert((10, 0))
def decompose(adapter: Adapter) -> AdaptedNode:
    """Cast, Sub and Mul.  Only for 8-bit integers: float holds their differences exactly."""
    if adapter.dtype(1) is not DataType.FLOAT or (
        adapter.optional(2) is not None and adapter.dtype(0).bits > 8
    ):
        adapter.refuse("only 8-bit integers with a scale of float can be decomposed")
    x = adapter.Cast(adapter.input(0), to=DataType.FLOAT)
    if adapter.optional(2) is not None:
        x = adapter.Sub(x, adapter.Cast(broadcast_along_axis(adapter, 2), to=DataType.FLOAT))
    return adapter.Mul(x, broadcast_along_axis(adapter, 1))


op.convert((19, 21))(keep)


@op.convert((21, 19))
def convert_21_to_19(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.integer("block_size"):
        adapter.refuse("the target version has no blocks")
    return adapter.same(drop=("block_size",))


@op.convert((21, 23))
def convert_21_to_23(adapter: Adapter) -> AdaptedNode:
    """Compute in float and cast the result where version 23 would round the factors to the type of the scale.

    That changes results only for integers of more than 8 bits and a scale that is not float.
    """
    scale = adapter.dtype(1)
    if scale is DataType.FLOAT or adapter.dtype(0).bits <= 8:
        return adapter.same()
    axis, size = adapter.inference.integer("axis"), adapter.inference.integer("block_size")
    wide = adapter.op(
        "DequantizeLinear", *adapter.node.inputs, output_dtype=DataType.FLOAT, axis=axis, block_size=size
    )
    return adapter.Cast(wide, to=scale)


@op.convert((23, 21))
def convert_23_to_21(adapter: Adapter) -> AdaptedNode:
    scale, to = adapter.dtype(1), DataType.from_number(adapter.inference.integer("output_dtype"))
    result_type = scale if to is DataType.UNDEFINED else to
    if result_type is not DataType.FLOAT and adapter.dtype(0).bits > 8:
        adapter.refuse(
            f"the target version does not round differences of {adapter.dtype(0).text} to {result_type.text}"
        )
    factor = adapter.input(1) if result_type is scale else adapter.Cast(adapter.input(1), to=result_type)
    return adapter.same([adapter.input(0), factor, adapter.optional(2)], drop=("output_dtype",))


# --- inference -------------------------------------------------------------------------------


@op.infer(10)
def infer_10(inference: Inference) -> Result:
    check_one_element(inference, 1, "x_scale")
    check_one_element(inference, 2, "x_zero_point")
    return infer(inference)


@op.infer(13, 19, 21, 23, 24, 25, 28)
def infer(inference: Inference) -> Result:
    check_granularity(inference, 1)
    check_granularity(inference, 2)
    check_same_count(inference)
    scale, output_dtype = inference.dtype(1), inference.integer("output_dtype", 0)
    if scale is None and output_dtype == 0:
        return None
    try:
        return TensorType(output_type(output_dtype, scale or DataType.FLOAT), inference.shape(0))
    except (EvaluationError, ValueError) as error:
        inference.fail(str(error))
