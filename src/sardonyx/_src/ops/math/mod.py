"""Mod: what a division leaves over.

Spec: ai.onnx Mod-10, -13, -28.  With `fmod=0` the quotient is rounded down and the result has the sign of B; with
`fmod=1` it is rounded toward zero and the result has the sign of A.  10 and 13 allow floats with `fmod=1` alone;
28 allows them with both, and so are they read in
10 and 13, as the suite of opset 10 does.  13 adds bfloat16.  What an integer leaves over when it is divided by zero depends on the
platform (10) or is not said; it is refused.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.div import require_no_zero, sign
from sardonyx._src.ops.math.elementwise import in_own_type
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.shapes import broadcasting
from sardonyx._src.ops.widening import SMALL_INTEGERS, cast

op = Operator("Mod", tolerance="rounding", elementwise=True)
op.infer(10, 13, 28)(broadcasting())


@op.convert((28, 13))
def to_13(c: Change) -> Converted:
    """Floats, for which `fmod=0` is not allowed there: with `fmod=1`, and then brought to the side of B."""
    if c.dtype(0).is_integer or c.t.integer("fmod"):
        return c.same()
    left = c.Mod(c.input(0), c.input(1), fmod=1)
    zero = c.constant(0, c.dtype(0))
    is_below = c.Less(c.input(1), zero)
    nothing = c.Where(is_below, c.constant(-0.0, c.dtype(0)), zero)
    return c.Where(c.Equal(left, zero), nothing, on_the_side_of(c, left, c.input(1), zero))


@op.convert((10, 0))
def to_9(c: Change) -> Converted:
    """A - A / B * B for integers; floats, whose quotients need not be exact, cannot be said."""
    own = c.dtype(0)
    if not own.is_integer:
        c.refuse(f"what a division of {own.text} leaves over cannot be computed exactly there")
    wide = SMALL_INTEGERS.get(own, own)
    A, B = (c.input(i) if wide is own else cast(c, c.input(i), wide) for i in (0, 1))
    left, zero = c.Sub(A, c.Mul(c.Div(A, B), B)), c.constant(0, wide)
    if not c.t.integer("fmod") and wide in (DataType.INT32, DataType.INT64):
        left = c.Where(c.Equal(left, zero), left, on_the_side_of(c, left, B, zero))
    return left if wide is own else cast(c, left, own)


def on_the_side_of(c: Change, left: Value, B: Value, zero: Value) -> Value:
    """What is left over, and B more where that is on the other side of zero."""
    is_beyond = c.Xor(c.Less(left, zero), c.Less(B, zero))
    return c.Where(is_beyond, c.Add(left, B), left)


@op.eval(10, 13, 28)
@in_own_type
def evaluate(A: Array, B: Array, *, fmod: int) -> Array:
    if fmod not in (0, 1):
        raise EvaluationError(f"fmod is {fmod}; 0 and 1 are allowed")
    if A.dtype.kind in "iu":
        require_no_zero(B)
    return np.fmod(A, B) if fmod else np.mod(A, B)


@op.value(10, 13, 28)
def value(t: Inference) -> Known | None:
    return arithmetic(truncated_mod if t.integer("fmod") else floored_mod)(t)


def floored_mod(a: KnownDim, b: KnownDim) -> Dim:
    return a % b if b != 0 else None


def truncated_mod(a: KnownDim, b: KnownDim) -> Dim:
    """What is left over when a / b is rounded toward zero, where the sign of a is known."""
    if b == 0:
        return None
    if (side := sign(a)) is None or (size := sign(b)) is None:
        return 0 if a % b == 0 else None
    return side * (side * a % (size * b))
