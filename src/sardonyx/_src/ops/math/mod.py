"""Mod: the remainder of a division.

Spec: ai.onnx Mod-10, -13, -28.  With `fmod=0` the quotient is rounded down and the result has the sign of B; with
`fmod=1` it is rounded toward zero and the result has the sign of A.  10 and 13 allow floats with `fmod=1` alone;
28 allows them with both, and so do 10 and 13 here, as in the official suite of opset 10.  13 adds bfloat16.  The
remainder of an integer division by zero depends on the platform (10) or is left open; it is refused.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.div import require_no_zero, sign, truncated_dim
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.support.promotion import SMALL_INTEGERS, cast
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Mod", tolerance="rounding", elementwise=True)
op.infer(10, 13, 28)(infer_broadcast())


@op.convert((28, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Floats, for which 13 does not allow `fmod=0`: computed with `fmod=1`, then adjusted to the sign of B."""
    if adapter.dtype(0).is_integer or adapter.inference.integer("fmod"):
        return adapter.same()
    left = adapter.Mod(adapter.input(0), adapter.input(1), fmod=1)
    zero = adapter.constant(0, adapter.dtype(0))
    is_below = adapter.Less(adapter.input(1), zero)
    nothing = adapter.Where(is_below, adapter.constant(-0.0, adapter.dtype(0)), zero)
    return adapter.Where(
        adapter.Equal(left, zero), nothing, add_divisor_if_signs_differ(adapter, left, adapter.input(1), zero)
    )


@op.convert((10, 0))
def to_9(adapter: Adapter) -> AdaptedNode:
    """A - A / B * B for integers; refused for floats, whose quotients need not be exact."""
    own = adapter.dtype(0)
    if not own.is_integer:
        adapter.refuse(f"the remainder of {own.text} cannot be computed exactly in the target version")
    wide = SMALL_INTEGERS.get(own, own)
    A, B = (adapter.input(i) if wide is own else cast(adapter, adapter.input(i), wide) for i in (0, 1))
    left, zero = adapter.Sub(A, adapter.Mul(adapter.Div(A, B), B)), adapter.constant(0, wide)
    if not adapter.inference.integer("fmod") and wide in (DataType.INT32, DataType.INT64):
        left = adapter.Where(
            adapter.Equal(left, zero), left, add_divisor_if_signs_differ(adapter, left, B, zero)
        )
    return left if wide is own else cast(adapter, left, own)


def add_divisor_if_signs_differ(adapter: Adapter, left: Value, B: Value, zero: Value) -> Value:
    """The remainder, plus B where their signs differ."""
    is_beyond = adapter.Xor(adapter.Less(left, zero), adapter.Less(B, zero))
    return adapter.Where(is_beyond, adapter.Add(left, B), left)


@op.eval(10, 13, 28)
@round_to_input_type
def evaluate(A: Array, B: Array, *, fmod: int) -> Array:
    if A.dtype.kind in "iu":
        require_no_zero(B)
    return np.fmod(A, B) if fmod else np.mod(A, B)


@op.value(10, 13, 28)
def value(inference: Inference) -> Known | None:
    return arithmetic(truncated_mod if inference.integer("fmod") else floored_mod)(inference)


def floored_mod(a: KnownDim, b: KnownDim) -> Dim:
    return a % b if b != 0 else None


def truncated_mod(a: KnownDim, b: KnownDim) -> Dim:
    """The remainder of a / b rounded toward zero, if the sign of b is known, or b divides a."""
    if b != 0 and (side := sign(a)) is not None and (size := sign(b)) is not None:
        return side * (side * a % (size * b))
    quotient = truncated_dim(a, b)
    return None if quotient is None else a - b * quotient
