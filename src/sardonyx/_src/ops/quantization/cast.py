"""Cast: elements as another type.

Spec: ai.onnx Cast-1, -6, -9, -13, -19, -21, -23, -24, -25, -28.  Version 1 names the type in a string, 6 by its number;
9 adds strings, 13 bfloat16 and the rules for what is out of range, 19 float8 with `saturate`, 24 float8e8m0 with
`round_mode`, and saturates infinities in the FNUZ types, which were NaN before; the others add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, Expr, known_ge
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.quantization.conversion import Rule, convert, rule_of
from sardonyx._src.ops.quantization.literals import read, written

op = Operator("Cast", elementwise=True)
FNUZ = (DataType.FLOAT8E4M3FNUZ, DataType.FLOAT8E5M2FNUZ)


@op.eval(1)
def eval_1(input: Array, *, to: str, call: Call) -> Array:
    return cast(input, target(to), rule_of(call.version))


@op.eval(6, 9, 13)
def eval_6(input: Array, *, to: int, call: Call) -> Array:
    return cast(input, target(to), rule_of(call.version))


@op.eval(19, 21, 23)
def eval_19(input: Array, *, to: int, saturate: int, call: Call) -> Array:
    return cast(input, target(to), rule_of(call.version, saturate))


@op.eval(24, 25, 28)
def evaluate(input: Array, *, to: int, saturate: int, round_mode: str, call: Call) -> Array:
    """input, result: of the same shape."""
    return cast(input, target(to), rule_of(call.version, saturate, round_mode))


def target(to: int | str) -> DataType:
    """The type that `to` names or numbers; raises EvaluationError where it is none that can be cast to."""
    try:
        found = DataType.parse(to) if isinstance(to, str) else DataType.numbered(to)
    except ValueError as error:
        raise EvaluationError(f"to: {error}") from error
    if found is DataType.UNDEFINED or found.is_complex:
        raise EvaluationError(f"to is {found.name}, which nothing can be cast to")
    return found


def cast(x: Array, to: DataType, rule: Rule) -> Array:
    """x as elements of `to`: numbers, bool or strings."""
    source = DataType.of(x.dtype)
    if source is DataType.STRING:
        return x if to is DataType.STRING else convert(read(x, to), to, rule)
    if source.is_complex:
        raise EvaluationError(f"{source.name} can be cast to no other type")
    return written(x) if to is DataType.STRING else convert(x, to, rule)


# --- conversion ------------------------------------------------------------------------------


@op.convert((1, 6))
def to_6(c: Change) -> Converted:
    return c.same(to=known_target(c.t))


@op.convert((6, 1))
def to_1(c: Change) -> Converted:
    return c.same(to=known_target(c.t).name)


PLAIN = ((6, 9), (9, 13), (19, 21), (21, 23), (24, 25), (25, 28))  # element types alone are new
op.convert(*PLAIN, *((new, old) for old, new in PLAIN), (13, 19))(lambda c: c.same())
op.convert((19, 13))(lambda c: c.same(drop=("saturate",)))  # it concerns types alone that 13 lacks


@op.convert((23, 24))
def to_24(c: Change) -> Converted:
    """Infinities become NaN in the FNUZ types up to 23."""
    if known_target(c.t) not in FNUZ or not c.t.integer("saturate"):
        return c.same()
    return c.same([without_infinities(c), *c.node.inputs[1:]])


@op.convert((24, 23))
def to_23(c: Change) -> Converted:
    """Infinities become the largest number in the FNUZ types from 24 on."""
    drop = ("round_mode",)  # it concerns a type alone that 23 lacks
    if known_target(c.t) not in FNUZ or not c.t.integer("saturate"):
        return c.same(drop=drop)
    return c.same([c.Clip(c.input(0)), *c.node.inputs[1:]], drop=drop)


def without_infinities(c: Change) -> Value:
    """Input 0 with NaN for each infinity."""
    x, source = c.input(0), c.dtype(0)
    if source is DataType.FLOAT8E5M2:
        x, source = c.Cast(x, to=DataType.FLOAT), DataType.FLOAT
    if source is DataType.STRING:
        c.refuse("strings may say infinities, which do not become the same there")
    if source.is_integer or source is DataType.BOOL or source.bits <= 8:
        return x  # no other of these types has infinities
    return c.Where(c.IsInf(x), c.constant(float("nan"), source), x)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def infer(t: Inference) -> Result:
    return TensorType(known_target(t), t.shape(0))


def known_target(t: Inference) -> DataType:
    to = t.attributes["to"]
    assert isinstance(to, int | str), f"to of Cast is {to!r}"
    try:
        return target(to)
    except EvaluationError as error:
        t.fail(str(error))


# The types that models calculate sizes in, and where their whole numbers end.
HOLD_SIZES = {
    DataType.INT64: 1 << 63,
    DataType.INT32: 1 << 31,
    DataType.FLOAT: 1 << 24,
    DataType.DOUBLE: 1 << 53,
}


@op.value(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)
def value(t: Inference) -> Known | None:
    return known_as(t, known_target(t))


def known_as(t: Inference, to: DataType) -> Known | None:
    """The elements of input 0 as `to`, a type that models calculate sizes in."""
    found = t.value(0)
    if found is None or found.dtype != object or t.dtype(0) not in (*HOLD_SIZES, DataType.BOOL):
        return None  # strings are objects, too
    if to is not DataType.BOOL and to not in HOLD_SIZES:
        return None
    result = np.empty(found.size, np.object_)
    result[:] = [truth(e) if to is DataType.BOOL else size(e, to) for e in found.reshape(-1).tolist()]
    return result.reshape(found.shape)


def size(element: Dim, to: DataType) -> Dim:
    """The element, as whole number or expression; None for a number that the type need not hold."""
    if not isinstance(element, int):
        return element
    return int(element) if abs(element) < HOLD_SIZES[to] else None


def truth(element: Dim) -> bool | None:
    if isinstance(element, Expr):
        return True if known_ge(element, 1) else None
    return None if element is None else bool(element)
