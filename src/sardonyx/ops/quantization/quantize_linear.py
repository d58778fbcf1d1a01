"""QuantizeLinear: y = saturate(x / y_scale + y_zero_point), rounded to the nearest number, ties to even.

Spec: ai.onnx QuantizeLinear-10, -13, -19, -21, -23, -24, -25, -28.  13 adds scales along `axis`, 19 float8 and
`saturate`, 21 blocks and `output_dtype`, 23 `precision`; the others add element types.
The quotient is that of the numbers as they are, in float32, or in float64 where int32 takes part or more than float32
is asked for.  Up to 21 it becomes the nearest integer at once, from 23 on it is first rounded to `precision`, which is
the type of y_scale by default (of float8e8m0 and int32 there is none, and nothing is rounded).  NaN becomes the lowest
integer.
"""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import EvaluationError
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Call, Operator
from sardonyx.ops.arithmetic import widen
from sardonyx.ops.inference import Inference, Result
from sardonyx.ops.quantization.conversion import Rule, convert, rule_of
from sardonyx.ops.quantization.granularity import check_granularity, spread

op = Operator("QuantizeLinear", tolerance="rounding")
PRECISIONS = (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16, DataType.DOUBLE)


@op.eval(10)
def eval_10(x: Array, y_scale: Array, y_zero_point: Array | None = None) -> Array:
    if y_scale.size != 1:
        raise EvaluationError(f"y_scale has shape {list(y_scale.shape)}, where a scalar is wanted before 13")
    return quantize(x, y_scale, y_zero_point, 0, 0, type_of(y_zero_point), None, Rule())


@op.eval(13)
def eval_13(x: Array, y_scale: Array, y_zero_point: Array | None = None, *, axis: int) -> Array:
    return quantize(x, y_scale, y_zero_point, axis, 0, type_of(y_zero_point), None, Rule())


@op.eval(19)
def eval_19(
    x: Array, y_scale: Array, y_zero_point: Array | None = None, *, axis: int, saturate: int, call: Call
) -> Array:
    rule = rule_of(call.version, saturate)
    return quantize(x, y_scale, y_zero_point, axis, 0, type_of(y_zero_point), None, rule)


@op.eval(21)
def eval_21(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    saturate: int,
    call: Call,
) -> Array:
    to = type_of(y_zero_point, output_dtype)
    return quantize(x, y_scale, y_zero_point, axis, block_size, to, None, rule_of(call.version, saturate))


@op.eval(23, 24, 25, 28)
def evaluate(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    precision: int,
    saturate: int,
    call: Call,
) -> Array:
    """x, result: of the same shape; y_scale, y_zero_point: one element, [size of axis], or one for each block."""
    to = type_of(y_zero_point, output_dtype)
    rule = rule_of(call.version, saturate)
    rounding = precision_of(precision, DataType.of(y_scale.dtype))
    return quantize(x, y_scale, y_zero_point, axis, block_size, to, rounding, rule)


def type_of(zero_point: Array | None, output_dtype: int = 0) -> DataType:
    return output_type(output_dtype, None if zero_point is None else DataType.of(zero_point.dtype))


def output_type(output_dtype: int, zero_point: DataType | None) -> DataType:
    """The type of y; raises EvaluationError where the two that say it disagree."""
    if output_dtype == 0:
        return DataType.UINT8 if zero_point is None else zero_point
    named = DataType.numbered(output_dtype)
    if zero_point not in (None, named):
        raise EvaluationError(
            f"output_dtype is {named.name}, y_zero_point {zero_point.name}; they have to agree"
        )
    return named


def precision_of(precision: int, scale: DataType) -> DataType | None:
    """The type that quotients are rounded to; None where they are not."""
    if precision == 0:
        return scale if scale in PRECISIONS else None
    named = DataType.numbered(precision)
    if named not in PRECISIONS:
        raise EvaluationError(
            f"precision is {named.name}, where one of {', '.join(p.name for p in PRECISIONS)} is wanted"
        )
    return named


def quantize(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    axis: int,
    block_size: int,
    to: DataType,
    precision: DataType | None,
    rule: Rule,
) -> Array:
    if block_size < 0:
        raise EvaluationError(f"block_size is {block_size}, where a positive number or none is wanted")
    divisor = spread(scale, x.shape, axis, block_size, "y_scale")
    shift = None
    if zero_point is not None:
        if zero_point.size != scale.size:
            what = f"y_zero_point has shape {list(zero_point.shape)} and y_scale {list(scale.shape)}"
            raise EvaluationError(f"{what}, where the same is wanted")
        shift = spread(zero_point, x.shape, axis, block_size, "y_zero_point")
    return quantized(quotient(x, divisor, precision), shift, to, rule)


def quotient(x: Array, divisor: Array, precision: DataType | None) -> Array:
    """x / divisor as float32 or float64, rounded once to `precision` where it is given."""
    x, divisor = widen(x), widen(divisor)
    with np.errstate(all="ignore"):
        if x.dtype == divisor.dtype == np.float32 and precision in (None, DataType.FLOAT):
            return x / divisor
        # float64 holds int32 and has more than twice the bits of float32: rounding its quotients again is harmless
        exact = x.astype(np.float64) / divisor.astype(np.float64)
    return exact if precision is None else widen(convert(exact, precision, Rule()))


def quantized(values: Array, shift: Array | None, to: DataType, rule: Rule) -> Array:
    """float32 or float64 values as the nearest of the quantized numbers whose zero is at `shift`, saturated."""
    with np.errstate(all="ignore"):
        if not to.is_integer:
            return convert(values if shift is None else values + shift.astype(values.dtype), to, rule)
        whole = np.rint(values)
        if shift is not None:
            whole = whole + shift.astype(values.dtype)
    low, high = limits(to)
    return convert(np.fmin(np.fmax(whole, low), high), to, rule)  # fmax prefers the limit to NaN


def limits(to: DataType) -> tuple[float, float]:
    """The lowest and the highest number of an integer type of at most 16 bits."""
    high = (1 << (to.bits - to.is_signed)) - 1
    return (-high - 1 if to.is_signed else 0), high


# --- inference -------------------------------------------------------------------------------


@op.infer(10, 13, 19, 21, 23, 24, 25, 28)
def infer(t: Inference) -> Result:
    check_granularity(t, 1)
    check_granularity(t, 2)
    zero_point = t.dtype(2) if t.has(2) else None
    output_dtype = t.integer("output_dtype", 0)
    if t.has(2) and zero_point is None and output_dtype == 0:
        return None
    try:
        return TensorType(output_type(output_dtype, zero_point), t.shape(0))
    except (EvaluationError, ValueError) as error:
        t.fail(str(error))
