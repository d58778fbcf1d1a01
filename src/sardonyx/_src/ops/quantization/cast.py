"""Cast: elements as another type.

Spec: ai.onnx Cast-1, -6, -9, -13, -19, -21, -23, -24, -25, -28.  Version 1 names the type in a string, 6 by its number;
9 adds strings, 13 bfloat16 and the rules for numbers that the target type cannot hold, 19 float8 with `saturate`, 24
float8e8m0 with `round_mode`; the others add element types.  An infinity cast to an FNUZ type, a float8 type without
infinities, gives NaN up to version 23, and with `saturate` the largest number from 24 on.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ir.dims import Expr, known_ge
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.ratios import Element, Ratio
from sardonyx._src.ops.quantization.conversion import FNUZ_TYPES, ROUND_MODES, CastRule, convert, rule_of
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator("Cast", elementwise=True, casts=True, enum_attributes={"round_mode": enum_values(*ROUND_MODES)})


@op.eval(1)
def eval_1(input: Array, *, to: str, context: RunContext) -> Array:
    return cast(input, target(to), rule_of(context.version))


@op.eval(6, 9, 13)
def eval_6(input: Array, *, to: int, context: RunContext) -> Array:
    return cast(input, target(to), rule_of(context.version))


@op.eval(19, 21, 23)
def eval_19(input: Array, *, to: int, saturate: int, context: RunContext) -> Array:
    return cast(input, target(to), rule_of(context.version, saturate))


@op.eval(24, 25, 28)
def evaluate(input: Array, *, to: int, saturate: int, round_mode: str, context: RunContext) -> Array:
    """input, result: of the same shape."""
    return cast(input, target(to), rule_of(context.version, saturate, round_mode))


def target(to: int | str) -> DataType:
    """The type that `to` names or numbers; raises EvaluationError for one without conversions."""
    try:
        dtype = DataType.parse(to) if isinstance(to, str) else DataType.from_number(to)
    except ValueError as error:
        raise EvaluationError(f"to: {error}") from error
    if dtype is DataType.UNDEFINED or dtype.is_complex:
        raise EvaluationError(f"to must be a type with a conversion; got {dtype.name}")
    return dtype


def cast(x: Array, to: DataType, rule: CastRule) -> Array:
    """x as elements of `to`: numbers, bool or strings."""
    # Lazy: only casts of strings need it.
    from sardonyx._src.ops.quantization.literals import (
        format_numbers,
        parse_numbers,
    )

    source = DataType.of(x.dtype)
    if source is DataType.STRING:
        return x if to is DataType.STRING else convert(parse_numbers(x, to), to, rule)
    if source.is_complex:
        raise EvaluationError(f"input must have a type with a conversion; got {source.name}")
    return format_numbers(x) if to is DataType.STRING else convert(x, to, rule)


# --- conversion ------------------------------------------------------------------------------


@op.convert((1, 6))
def to_6(adapter: Adapter) -> AdaptedNode:
    return adapter.same(to=known_target(adapter.inference))


@op.convert((6, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    return adapter.same(to=known_target(adapter.inference).name)


CAST_TYPE_STEPS = (
    (6, 9),
    (9, 13),
    (19, 21),
    (21, 23),
    (24, 25),
    (25, 28),
)  # steps that only add element types
op.convert(*CAST_TYPE_STEPS, *((new, old) for old, new in CAST_TYPE_STEPS), (13, 19))(keep)
op.convert((19, 13))(
    lambda adapter: adapter.same(drop=("saturate",))
)  # `saturate` concerns only types that 13 lacks


@op.convert((23, 24))
def to_24(adapter: Adapter) -> AdaptedNode:
    """Infinities become NaN in the FNUZ types up to 23."""
    if known_target(adapter.inference) not in FNUZ_TYPES or not adapter.inference.integer("saturate"):
        return adapter.same()
    return adapter.same([without_infinities(adapter), *adapter.node.inputs[1:]])


@op.convert((24, 23))
def to_23(adapter: Adapter) -> AdaptedNode:
    """Infinities become the largest number in the FNUZ types from 24 on."""
    drop = ("round_mode",)  # it concerns only float8e8m0, which 23 lacks
    if known_target(adapter.inference) not in FNUZ_TYPES or not adapter.inference.integer("saturate"):
        return adapter.same(drop=drop)
    return adapter.same([adapter.Clip(adapter.input(0)), *adapter.node.inputs[1:]], drop=drop)


def without_infinities(adapter: Adapter) -> Value:
    """Input 0 with NaN for each infinity."""
    x, source = adapter.input(0), adapter.dtype(0)
    if source is DataType.FLOAT8E5M2:
        x, source = adapter.Cast(x, to=DataType.FLOAT), DataType.FLOAT
    if source is DataType.STRING:
        adapter.refuse("strings may hold infinities, which the target version converts in another way")
    if source.is_integer or source is DataType.BOOL or source.bits <= 8:
        return x  # no other of these types has infinities
    return adapter.Where(adapter.IsInf(x), adapter.constant(float("nan"), source), x)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def infer(inference: Inference) -> Result:
    return TensorType(known_target(inference), inference.shape(0))


def known_target(inference: Inference) -> DataType:
    """The type that the attribute `to` names or numbers; raises InferenceError for one without conversions."""
    to = inference.attributes["to"]
    assert isinstance(to, int | str), f"to of Cast is {to!r}"
    try:
        return target(to)
    except EvaluationError as error:
        inference.fail(str(error))


# The types in which models compute sizes.  Each holds exactly the integers whose magnitude is below its bound.
HOLD_SIZES = {
    DataType.INT64: 1 << 63,
    DataType.INT32: 1 << 31,
    DataType.FLOAT: 1 << 24,
    DataType.DOUBLE: 1 << 53,
}


@op.value(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def value(inference: Inference) -> Known | None:
    return known_as(inference, known_target(inference))


def known_as(inference: Inference, to: DataType) -> Known | None:
    """The elements of input 0, where inference knows them, converted to `to`; None unless `to` is in HOLD_SIZES."""
    values = inference.value(0)
    if values is None or values.dtype != object or inference.dtype(0) not in (*HOLD_SIZES, DataType.BOOL):
        return None  # known strings are arrays of objects as well: the element type decides
    if to is not DataType.BOOL and to not in HOLD_SIZES:
        return None
    result = np.empty(values.size, np.object_)
    result[:] = [truth(e) if to is DataType.BOOL else size(e, to) for e in values.reshape(-1).tolist()]
    return result.reshape(values.shape)


def size(element: Element | None, to: DataType) -> Element | None:
    """A known element converted to `to`; None for a number that `to` may not hold.

    A Ratio, the symbolic quotient of two sizes, is rounded toward zero if `to` is an integer type.
    """
    from sardonyx._src.ops.math.div import truncated_dim  # lazy: few models need it
    from sardonyx._src.ops.math.symbolic import SYMBOLIC_INTEGERS  # lazy: few models need it

    if isinstance(element, Ratio) and to in SYMBOLIC_INTEGERS:
        return truncated_dim(element.numerator, element.denominator)
    if not isinstance(element, int):
        return element
    return int(element) if abs(element) < HOLD_SIZES[to] else None


def truth(element: Element | None) -> bool | None:
    """Whether the element is not 0; None if that is unknown."""
    if isinstance(element, Expr):
        return True if known_ge(element, 1) else None
    return None if element is None or isinstance(element, Ratio) else bool(element)
