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

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.quantization.cast import FNUZ
from sardonyx._src.ops.quantization.conversion import Rule, convert, rule_of
from sardonyx._src.ops.quantization.granularity import check_alike, check_granularity, spread
from sardonyx._src.ops.shapes import check_single

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


# --- conversion ------------------------------------------------------------------------------


@op.convert((10, 13))
def to_13(c: Change) -> Converted:
    return c.same([c.input(0), *(scalar_of(c, i) for i in (1, 2))])


@op.convert((13, 10))
def to_10(c: Change) -> Converted:
    """One scale, or the operator spelt out for one along an axis."""
    if c.t.shape(1) in ((), (1,)):
        return c.same([c.input(0), *(scalar_of(c, i) for i in (1, 2))], drop=("axis",))
    if c.dtype(0) is not DataType.FLOAT:
        c.refuse("there is one scale for the whole tensor there")
    to = DataType.UINT8 if c.optional(2) is None else c.dtype(2)
    whole = c.Round(c.Div(c.input(0), laid_along(c, 1)))
    if c.optional(2) is not None:
        whole = c.Add(whole, c.Cast(laid_along(c, 2), to=DataType.FLOAT))
    low, high = limits(to)
    finite = c.Where(c.IsNaN(whole), c.constant(low, DataType.FLOAT), whole)
    clipped = c.Clip(finite, c.constant(low, DataType.FLOAT), c.constant(high, DataType.FLOAT))
    return c.Cast(clipped, to=to)


op.convert((19, 21), (24, 25), (25, 24), (25, 28), (28, 25))(lambda c: c.same())


@op.convert((13, 19))
def to_19_of_one_type(c: Change) -> Converted:
    """Data and scale are of one type from 19 to 21."""
    return c.same(quotients_of_int32(c)) if c.t.dtype(0) is DataType.INT32 else c.same()


op.convert((19, 13))(lambda c: c.same(drop=("saturate",)))  # it concerns types alone that 13 lacks


@op.convert((21, 19))
def to_19(c: Change) -> Converted:
    """A zero point of zeros says the type of the result."""
    if c.t.integer("block_size"):
        c.refuse("there are no blocks there")
    inputs = [c.input(0), c.input(1), c.optional(2)]
    if c.optional(2) is None and (to := c.t.integer("output_dtype")):
        inputs[2] = c.constant(np.zeros(c.shape(1)), DataType.numbered(to))
    return c.same(inputs, drop=("block_size", "output_dtype"))


@op.convert((21, 23))
def to_23_rounded(c: Change) -> Converted:
    """Quotients are not rounded to the type of the scale up to 21."""
    if c.dtype(0) is DataType.INT32:
        return c.same(precision=DataType.DOUBLE)
    return c.same() if c.dtype(1) is DataType.FLOAT else c.same(precision=DataType.FLOAT)


@op.convert((23, 21))
def to_21(c: Change) -> Converted:
    """Data and scale are of one type; quotients that are rounded are worked out beforehand, and divided by 1."""
    drop, x, scale = ("precision",), c.dtype(0), c.dtype(1)
    rounded = precision_of(c.t.integer("precision"), scale)
    if rounded is None:
        return c.same(drop=drop)
    if rounded is DataType.FLOAT and x is not DataType.INT32:
        if x is scale:
            return c.same(drop=drop)
        return c.same([*(c.Cast(c.input(i), to=rounded) for i in (0, 1)), c.optional(2)], drop=drop)
    if rounded is DataType.DOUBLE and x is DataType.INT32:
        return c.same(quotients_of_int32(c), drop=drop)
    if rounded is DataType.DOUBLE:
        c.refuse(f"quotients are rounded to {rounded.name}, which is not so there")
    found = c.Cast(c.Cast(wide_quotients(c), to=rounded), to=DataType.FLOAT)
    return c.same(divided_by_one(c, found), drop=drop)


def quotients_of_int32(c: Change) -> list[Value | None]:
    """The inputs with whole quotients for int32 and a scale of float, as far as any quantized number reaches."""
    if c.dtype(1) is DataType.INT32:
        return list(c.node.inputs)
    low, high = (c.constant(n, DataType.DOUBLE) for n in (-(1 << 17), 1 << 17))
    whole = c.Clip(c.Round(wide_quotients(c)), low, high)
    return divided_by_one(c, c.Cast(whole, to=DataType.FLOAT))


def wide_quotients(c: Change) -> Value:
    return c.Div(c.Cast(c.input(0), to=DataType.DOUBLE), c.Cast(laid_along(c, 1), to=DataType.DOUBLE))


def divided_by_one(c: Change, quotients: Value) -> list[Value | None]:
    return [quotients, c.constant(np.ones(c.shape(1)), DataType.FLOAT), c.optional(2)]


@op.convert((23, 24))
def to_24(c: Change) -> Converted:
    """Infinite quotients become NaN in the FNUZ types up to 23, the largest number from 24 on."""
    if not saturates_infinities(c):
        return c.same()
    quotients = c.Div(c.Cast(c.input(0), to=DataType.FLOAT), c.Cast(laid_along(c, 1), to=DataType.FLOAT))
    rounded = precision_of(c.t.integer("precision"), c.dtype(1))
    is_infinite = c.IsInf(quotients if rounded is None else c.Cast(quotients, to=rounded))
    x = c.Where(is_infinite, c.constant(float("nan"), c.dtype(0)), c.input(0))
    return c.same([x, *c.node.inputs[1:]])


@op.convert((24, 23))
def to_23(c: Change) -> Converted:
    if saturates_infinities(c):
        c.refuse("infinite quotients become NaN there, and not the largest number")
    return c.same()


def saturates_infinities(c: Change) -> bool:
    """Whether the result is of an FNUZ type and saturated."""
    found = c.node.outputs[0].type
    if not isinstance(found, TensorType):
        c.refuse("the element type of the result is not known")
    return found.dtype in FNUZ and bool(c.t.integer("saturate"))


def scalar_of(c: Change, i: int) -> Value | None:
    """Input i, of one element, as a scalar."""
    value = c.optional(i)
    if c.t.shape(i) not in (None, (), (1,)):
        c.refuse(f"input {i} has shape {c.t.shape(i)}, where one element is wanted")
    if value is None or c.t.shape(i) == ():
        return value
    known = c.t.constant(i)
    return c.Reshape(value, c.integers([])) if known is None else c.constant(known.reshape(()))


def laid_along(c: Change, i: int) -> Value:
    """Input i, a vector along `axis`, as it broadcasts against input 0."""
    if c.t.shape(i) in ((), (1,)):
        return c.Reshape(c.input(i), c.integers([]))
    if c.t.integer("block_size", 0):
        c.refuse("scales of blocks cannot be laid along the data")
    if "axis" not in c.t.attributes:
        return c.Reshape(c.input(i), c.integers([]))  # version 10, which knows one scale alone
    behind = c.rank(0) - c.axis() - 1
    return c.Reshape(c.input(i), c.integers([-1] + [1] * behind))


# --- inference -------------------------------------------------------------------------------


@op.infer(10, 13, 19, 21, 23, 24, 25, 28)
def infer(t: Inference) -> Result:
    if t.version < 13:
        check_single(t, 1, "y_scale")
        check_single(t, 2, "y_zero_point")
    check_granularity(t, 1)
    check_granularity(t, 2)
    check_alike(t)
    zero_point = t.dtype(2) if t.has(2) else None
    output_dtype = t.integer("output_dtype", 0)
    if t.has(2) and zero_point is None and output_dtype == 0:
        return None
    try:
        return TensorType(output_type(output_dtype, zero_point), t.shape(0))
    except (EvaluationError, ValueError) as error:
        t.fail(str(error))
