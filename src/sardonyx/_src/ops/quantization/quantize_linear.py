"""QuantizeLinear: y = saturate(x / y_scale + y_zero_point), rounded to the nearest number, ties to even.

Spec: ai.onnx QuantizeLinear-10, -13, -19, -21, -23, -24, -25, -28.  13 adds scales along `axis`, 19 float8 and
`saturate`, 21 blocks and `output_dtype`, 23 `precision`; the others add element types.
The quotient is computed in float32, or in float64 for int32 operands or a precision beyond float32.  Up to 21 it is
rounded directly to the nearest integer.  From 23 on it is first rounded to `precision`, by default the type of y_scale
(unless that is float8e8m0 or int32, which leave the quotient as it is).  NaN becomes the lowest integer.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.quantization.conversion import FNUZ_TYPES, CastRule, convert, rule_of
from sardonyx._src.ops.quantization.granularity import (
    broadcast_parameter,
    check_granularity,
    check_same_count,
)
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.shapes import check_one_element
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "QuantizeLinear", tolerance="rounding", fixed_rounding=True, under_permutation="per_tensor_quantization"
)
QUOTIENT_TYPES = (
    DataType.FLOAT,
    DataType.FLOAT16,
    DataType.BFLOAT16,
    DataType.DOUBLE,
)  # values of `precision`
# Beyond the range of any quantized type, even after a zero point is added: these have at most 16 bits, or are float8.
QUOTIENT_LIMIT = 1 << 17


@op.eval(10)
def eval_10(x: Array, y_scale: Array, y_zero_point: Array | None = None) -> Array:
    if y_scale.size != 1:
        raise EvaluationError(f"y_scale must be a scalar before version 13; got shape {list(y_scale.shape)}")
    return quantize(x, y_scale, y_zero_point, 0, 0, type_of(y_zero_point), None, CastRule())


@op.eval(13)
def eval_13(x: Array, y_scale: Array, y_zero_point: Array | None = None, *, axis: int) -> Array:
    return quantize(x, y_scale, y_zero_point, axis, 0, type_of(y_zero_point), None, CastRule())


@op.eval(19)
def eval_19(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int,
    saturate: int,
    context: RunContext,
) -> Array:
    rule = rule_of(context.version, saturate)
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
    context: RunContext,
) -> Array:
    to = type_of(y_zero_point, output_dtype)
    return quantize(x, y_scale, y_zero_point, axis, block_size, to, None, rule_of(context.version, saturate))


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
    context: RunContext,
) -> Array:
    """x, result: of the same shape; y_scale, y_zero_point: one element, [size of axis], or one for each block."""
    to = type_of(y_zero_point, output_dtype)
    rule = rule_of(context.version, saturate)
    rounding = precision_of(precision, DataType.of(y_scale.dtype))
    return quantize(x, y_scale, y_zero_point, axis, block_size, to, rounding, rule)


def type_of(zero_point: Array | None, output_dtype: int = 0) -> DataType:
    """`output_type` for a zero point that is given as an array."""
    return output_type(output_dtype, None if zero_point is None else DataType.of(zero_point.dtype))


def output_type(output_dtype: int, zero_point: DataType | None) -> DataType:
    """The type of y; raises EvaluationError if output_dtype and y_zero_point disagree."""
    if output_dtype == 0:
        return DataType.UINT8 if zero_point is None else zero_point
    named = DataType.from_number(output_dtype)
    if zero_point not in (None, named):
        raise EvaluationError(
            f"output_dtype must be the type of y_zero_point, {zero_point.name}; got {named.name}"
        )
    return named


def precision_of(precision: int, scale: DataType) -> DataType | None:
    """The type that quotients are rounded to; None if they are not rounded."""
    if precision == 0:
        return scale if scale in QUOTIENT_TYPES else None
    named = DataType.from_number(precision)
    if named not in QUOTIENT_TYPES:
        raise EvaluationError(
            f"precision must be one of {', '.join(p.name for p in QUOTIENT_TYPES)}; got {named.name}"
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
    rule: CastRule,
) -> Array:
    """x as elements of `to`; quotients are rounded to `precision` before, unless it is None."""
    if block_size < 0:
        raise EvaluationError(f"block_size must be positive or 0 for none; got {block_size}")
    divisor = broadcast_parameter(scale, x.shape, axis, block_size, "y_scale")
    shift = None
    if zero_point is not None:
        if zero_point.size != scale.size:
            what = f"y_zero_point must have the shape of y_scale, {list(scale.shape)}"
            raise EvaluationError(f"{what}; got {list(zero_point.shape)}")
        shift = broadcast_parameter(zero_point, x.shape, axis, block_size, "y_zero_point")
    return round_to_quantized(quotient(x, divisor, precision), shift, to, rule)


def quotient(x: Array, divisor: Array, precision: DataType | None) -> Array:
    """x / divisor as float32 or float64, rounded once to `precision` where it is given."""
    x, divisor = promote_to_float32(x), promote_to_float32(divisor)
    with np.errstate(all="ignore"):
        if x.dtype == divisor.dtype == np.float32 and precision in (None, DataType.FLOAT):
            return x / divisor
        # float64 holds int32, and its significand has more than twice the bits of float32: rounding such a quotient a
        # second time gives the same as rounding it once.
        wide = x.astype(np.float64) / divisor.astype(np.float64)
    return wide if precision is None else promote_to_float32(convert(wide, precision, CastRule()))


def round_to_quantized(values: Array, shift: Array | None, to: DataType, rule: CastRule) -> Array:
    """float32 or float64 values rounded, shifted by the zero point `shift`, and saturated to the type `to`."""
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


# --- conversion ------------------------------------------------------------------------------


@op.convert((10, 13))
def convert_10_to_13(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), *(scalar_of(adapter, i) for i in (1, 2))])


@op.convert((13, 10))
def convert_13_to_10(adapter: Adapter) -> AdaptedNode:
    """Keep the node for one scale, which is all that version 10 supports; decompose it for scales along an axis."""
    if adapter.inference.shape(1) in ((), (1,)):
        return adapter.same([adapter.input(0), *(scalar_of(adapter, i) for i in (1, 2))], drop=("axis",))
    if adapter.dtype(0) is not DataType.FLOAT:
        adapter.refuse("the target version has one scale for the whole tensor")
    to = DataType.UINT8 if adapter.optional(2) is None else adapter.dtype(2)
    whole = adapter.Round(adapter.Div(adapter.input(0), broadcast_along_axis(adapter, 1)))
    if adapter.optional(2) is not None:
        whole = adapter.Add(whole, adapter.Cast(broadcast_along_axis(adapter, 2), to=DataType.FLOAT))
    low, high = limits(to)
    finite = adapter.Where(adapter.IsNaN(whole), adapter.constant(low, DataType.FLOAT), whole)
    clipped = adapter.Clip(
        finite, adapter.constant(low, DataType.FLOAT), adapter.constant(high, DataType.FLOAT)
    )
    return adapter.Cast(clipped, to=to)


op.convert((19, 21), (24, 25), (25, 24), (25, 28), (28, 25))(keep)


@op.convert((13, 19))
def convert_13_to_19(adapter: Adapter) -> AdaptedNode:
    """In versions 19 and 21, x and y_scale have one type: quotients of an int32 x are computed by other nodes."""
    return (
        adapter.same(divide_int32_before(adapter))
        if adapter.inference.dtype(0) is DataType.INT32
        else adapter.same()
    )


op.convert((19, 13))(
    lambda adapter: adapter.same(drop=("saturate",))
)  # `saturate` concerns only types that 13 lacks


@op.convert((21, 19))
def convert_21_to_19(adapter: Adapter) -> AdaptedNode:
    """Version 19 has no output_dtype: zero points of this type, which are all 0, give the type of the result."""
    if adapter.inference.integer("block_size"):
        adapter.refuse("the target version has no blocks")
    inputs = [adapter.input(0), adapter.input(1), adapter.optional(2)]
    if adapter.optional(2) is None and (to := adapter.inference.integer("output_dtype")):
        inputs[2] = adapter.constant(np.zeros(adapter.shape(1)), DataType.from_number(to))
    return adapter.same(inputs, drop=("block_size", "output_dtype"))


@op.convert((21, 23))
def convert_21_to_23(adapter: Adapter) -> AdaptedNode:
    """Version 21 does not round quotients to the type of the scale: set a `precision` that keeps them as they are."""
    if adapter.dtype(0) is DataType.INT32:
        return adapter.same(precision=DataType.DOUBLE)
    return adapter.same() if adapter.dtype(1) is DataType.FLOAT else adapter.same(precision=DataType.FLOAT)


@op.convert((23, 21))
def convert_23_to_21(adapter: Adapter) -> AdaptedNode:
    """In version 21, x and y_scale have one type, and quotients are not rounded to a `precision`.

    Where `precision` matters, other nodes compute the rounded quotients, and the node quantizes them with scale 1.
    """
    drop, x, scale = ("precision",), adapter.dtype(0), adapter.dtype(1)
    rounded = precision_of(adapter.inference.integer("precision"), scale)
    if rounded is None:
        return adapter.same(drop=drop)
    if rounded is DataType.FLOAT and x is not DataType.INT32:
        if x is scale:
            return adapter.same(drop=drop)
        return adapter.same(
            [*(adapter.Cast(adapter.input(i), to=rounded) for i in (0, 1)), adapter.optional(2)], drop=drop
        )
    if rounded is DataType.DOUBLE and x is DataType.INT32:
        return adapter.same(divide_int32_before(adapter), drop=drop)
    if rounded is DataType.DOUBLE:
        adapter.refuse(f"the target version does not round quotients to {rounded.name}")
    quotients = adapter.Cast(adapter.Cast(quotients_in_double(adapter), to=rounded), to=DataType.FLOAT)
    return adapter.same(inputs_with_scale_1(adapter, quotients), drop=drop)


def divide_int32_before(adapter: Adapter) -> list[Value | None]:
    """The inputs for an int32 x and a float scale: rounded quotients, a scale of 1, and the zero point.

    The quotients are clipped to a range that float, their type, holds exactly.
    """
    if adapter.dtype(1) is DataType.INT32:
        return list(adapter.node.inputs)
    low, high = (adapter.constant(n, DataType.DOUBLE) for n in (-QUOTIENT_LIMIT, QUOTIENT_LIMIT))
    whole = adapter.Clip(adapter.Round(quotients_in_double(adapter)), low, high)
    return inputs_with_scale_1(adapter, adapter.Cast(whole, to=DataType.FLOAT))


def quotients_in_double(adapter: Adapter) -> Value:
    return adapter.Div(
        adapter.Cast(adapter.input(0), to=DataType.DOUBLE),
        adapter.Cast(broadcast_along_axis(adapter, 1), to=DataType.DOUBLE),
    )


def inputs_with_scale_1(adapter: Adapter, quotients: Value) -> list[Value | None]:
    return [quotients, adapter.constant(np.ones(adapter.shape(1)), DataType.FLOAT), adapter.optional(2)]


@op.convert((23, 24))
def convert_23_to_24(adapter: Adapter) -> AdaptedNode:
    """Infinite quotients become NaN in the FNUZ types up to 23, the largest number from 24 on.

    So x is replaced by NaN where its quotient is infinite.
    """
    if not saturates_infinities(adapter):
        return adapter.same()
    quotients = adapter.Div(
        adapter.Cast(adapter.input(0), to=DataType.FLOAT),
        adapter.Cast(broadcast_along_axis(adapter, 1), to=DataType.FLOAT),
    )
    rounded = precision_of(adapter.inference.integer("precision"), adapter.dtype(1))
    is_infinite = adapter.IsInf(quotients if rounded is None else adapter.Cast(quotients, to=rounded))
    x = adapter.Where(is_infinite, adapter.constant(float("nan"), adapter.dtype(0)), adapter.input(0))
    return adapter.same([x, *adapter.node.inputs[1:]])


@op.convert((24, 23))
def convert_24_to_23(adapter: Adapter) -> AdaptedNode:
    if saturates_infinities(adapter):
        adapter.refuse("infinite quotients become NaN in the target version, not the largest number")
    return adapter.same()


def saturates_infinities(adapter: Adapter) -> bool:
    """Whether the result saturates and has an FNUZ type, a float8 type without infinities."""
    type = adapter.node.outputs[0].type
    if not isinstance(type, TensorType):
        adapter.refuse("the element type of the result must be known")
    return type.dtype in FNUZ_TYPES and bool(adapter.inference.integer("saturate"))


def scalar_of(adapter: Adapter, i: int) -> Value | None:
    """Input i, which must have one element, as a scalar; None if it is omitted."""
    value = adapter.optional(i)
    if adapter.inference.shape(i) not in (None, (), (1,)):
        adapter.refuse(f"input {i} must have one element; got shape {adapter.inference.shape(i)}")
    if value is None or adapter.inference.shape(i) == ():
        return value
    known = adapter.inference.constant(i)
    return (
        adapter.Reshape(value, adapter.integers([])) if known is None else adapter.constant(known.reshape(()))
    )


def broadcast_along_axis(adapter: Adapter, i: int) -> Value:
    """Input i, a vector along `axis`, reshaped to broadcast against input 0."""
    if adapter.inference.shape(i) in ((), (1,)):
        return adapter.Reshape(adapter.input(i), adapter.integers([]))
    if adapter.inference.integer("block_size", 0):
        adapter.refuse("scales of blocks cannot be broadcast along the data")
    if "axis" not in adapter.inference.attributes:
        return adapter.Reshape(adapter.input(i), adapter.integers([]))  # version 10, which has only one scale
    trailing = adapter.rank(0) - adapter.axis() - 1
    return adapter.Reshape(adapter.input(i), adapter.integers([-1] + [1] * trailing))


# --- inference -------------------------------------------------------------------------------


@op.infer(10)
def infer_10(inference: Inference) -> Result:
    check_one_element(inference, 1, "y_scale")
    check_one_element(inference, 2, "y_zero_point")
    return infer(inference)


@op.infer(13, 19, 21, 23, 24, 25, 28)
def infer(inference: Inference) -> Result:
    check_granularity(inference, 1)
    check_granularity(inference, 2)
    check_same_count(inference)
    zero_point = inference.dtype(2) if inference.has(2) else None
    output_dtype = inference.integer("output_dtype", 0)
    if inference.has(2) and zero_point is None and output_dtype == 0:
        return None
    try:
        return TensorType(output_type(output_dtype, zero_point), inference.shape(0))
    except (EvaluationError, ValueError) as error:
        inference.fail(str(error))
