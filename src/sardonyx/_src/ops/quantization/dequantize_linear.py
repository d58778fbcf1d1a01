"""DequantizeLinear: y = (x - x_zero_point) * x_scale.

Spec: ai.onnx DequantizeLinear-10, -13, -19, -21, -23, -24, -25, -28.  13 adds scales along `axis`, 19 float8 and scales of
narrow floats, 21 blocks, 23 `output_dtype`; the others add element types.  Up to 21 the product is rounded once to the
type of x_scale; from 23 on the result's type is that of the multiplication, so both factors are rounded to it, too.
A scale of type float8e8m0, which no result can have, needs an output_dtype.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.quantization.conversion import Rule, convert, plain
from sardonyx._src.ops.quantization.granularity import check_alike, check_granularity, spread
from sardonyx._src.ops.quantization.quantize_linear import laid_along, scalar_of
from sardonyx._src.ops.shapes import check_single

op = Operator("DequantizeLinear", tolerance="rounding")


@op.eval(10)
def eval_10(x: Array, x_scale: Array, x_zero_point: Array | None = None) -> Array:
    if x_scale.size != 1:
        raise EvaluationError(f"x_scale has shape {list(x_scale.shape)}, where a scalar is wanted before 13")
    return eval_21(x, x_scale, x_zero_point, axis=0, block_size=0)


@op.eval(13, 19)
def eval_13(x: Array, x_scale: Array, x_zero_point: Array | None = None, *, axis: int) -> Array:
    return eval_21(x, x_scale, x_zero_point, axis=axis, block_size=0)


@op.eval(21)
def eval_21(
    x: Array, x_scale: Array, x_zero_point: Array | None = None, *, axis: int, block_size: int
) -> Array:
    difference, scale = factors(x, x_scale, x_zero_point, axis, block_size)
    return product(difference, widen(scale), DataType.of(x_scale.dtype))


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
    return product(widen(convert(difference, to, Rule())), widen(convert(scale, to, Rule())), to)


def output_type(output_dtype: int, scale: DataType) -> DataType:
    """The type of y; raises EvaluationError where it can be none."""
    to = scale if output_dtype == 0 else DataType.numbered(output_dtype)
    if to not in (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16):
        what = "x_scale is" if output_dtype == 0 else "output_dtype is"
        raise EvaluationError(
            f"{what} {to.name}, where an output_dtype of FLOAT, FLOAT16 or BFLOAT16 is wanted"
        )
    return to


def factors(
    x: Array, scale: Array, zero_point: Array | None, axis: int, block_size: int
) -> tuple[Array, Array]:
    """x - x_zero_point, exact (as integers or float32), and the scales, laid along it."""
    if block_size < 0:
        raise EvaluationError(f"block_size is {block_size}, where a positive number or none is wanted")
    factor = spread(scale, x.shape, axis, block_size, "x_scale")
    if zero_point is None:
        return plain(x), factor
    if zero_point.size != scale.size:
        what = f"x_zero_point has shape {list(zero_point.shape)} and x_scale {list(scale.shape)}"
        raise EvaluationError(f"{what}, where the same is wanted")
    shift = plain(spread(zero_point, x.shape, axis, block_size, "x_zero_point"))
    wide = plain(x)
    if wide.dtype.kind in "iu":
        wide, shift = wide.astype(np.int64), shift.astype(np.int64)
    with np.errstate(all="ignore"):
        return wide - shift, factor


def product(difference: Array, scale: Array, to: DataType) -> Array:
    """difference * scale, both taken as float32, rounded to `to`."""
    with np.errstate(all="ignore"):
        return convert(difference.astype(np.float32) * scale, to, Rule())


# --- conversion ------------------------------------------------------------------------------


@op.convert((10, 13))
def to_13(c: Change) -> Converted:
    return c.same([c.input(0), *(scalar_of(c, i) for i in (1, 2))])


@op.convert((13, 10))
def to_10(c: Change) -> Converted:
    """One scale, or the operator spelt out for one along an axis."""
    if c.t.shape(1) in ((), (1,)):
        return c.same([c.input(0), *(scalar_of(c, i) for i in (1, 2))], drop=("axis",))
    return spelt_out(c)


@op.convert((10, 0))
def spelt_out(c: Change) -> Converted:
    """Differences of 8-bit integers are exact in float."""
    if c.dtype(1) is not DataType.FLOAT or (c.optional(2) is not None and c.dtype(0).bits > 8):
        c.refuse("only 8-bit integers with a scale of float can be spelt out")
    x = c.Cast(c.input(0), to=DataType.FLOAT)
    if c.optional(2) is not None:
        x = c.Sub(x, c.Cast(laid_along(c, 2), to=DataType.FLOAT))
    return c.Mul(x, laid_along(c, 1))


op.convert((19, 21))(lambda c: c.same())


@op.convert((21, 19))
def to_19(c: Change) -> Converted:
    if c.t.integer("block_size"):
        c.refuse("there are no blocks there")
    return c.same(drop=("block_size",))


@op.convert((21, 23))
def to_23(c: Change) -> Converted:
    """Factors are not rounded to the type of the scale up to 21, which matters for wide integers alone."""
    scale = c.dtype(1)
    if scale is DataType.FLOAT or c.dtype(0).bits <= 8:
        return c.same()
    axis, size = c.t.integer("axis"), c.t.integer("block_size")
    wide = c.op("DequantizeLinear", *c.node.inputs, output_dtype=DataType.FLOAT, axis=axis, block_size=size)
    return c.Cast(wide, to=scale)


@op.convert((23, 21))
def to_21(c: Change) -> Converted:
    scale, to = c.dtype(1), DataType.numbered(c.t.integer("output_dtype"))
    wanted = scale if to is DataType.UNDEFINED else to
    if wanted is not DataType.FLOAT and c.dtype(0).bits > 8:
        c.refuse(f"differences of {c.dtype(0).text} are not rounded to {wanted.text} there")
    factor = c.input(1) if wanted is scale else c.Cast(c.input(1), to=wanted)
    return c.same([c.input(0), factor, c.optional(2)], drop=("output_dtype",))


# --- inference -------------------------------------------------------------------------------


@op.infer(10, 13, 19, 21, 23, 24, 25, 28)
def infer(t: Inference) -> Result:
    if t.version < 13:
        check_single(t, 1, "x_scale")
        check_single(t, 2, "x_zero_point")
    check_granularity(t, 1)
    check_granularity(t, 2)
    check_alike(t)
    scale, output_dtype = t.dtype(1), t.integer("output_dtype", 0)
    if scale is None and output_dtype == 0:
        return None
    try:
        return TensorType(output_type(output_dtype, scale or DataType.FLOAT), t.shape(0))
    except (EvaluationError, ValueError) as error:
        t.fail(str(error))
