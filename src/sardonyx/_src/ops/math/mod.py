"""Mod: the remainder of a division.

Spec: ai.onnx Mod-10, -13, -28.  With `fmod=0` the quotient is rounded down and the result has the sign of B; with
`fmod=1` it is rounded toward zero and the result has the sign of A.  The texts of 10 and 13 allow floats only with
`fmod=1`, 28 with both; here every version allows both, since cases of the official suite for opset 10 need it.  13 adds
bfloat16.  The remainder of an integer division by zero, which depends on the platform in 10 and is undefined later, is
an error here.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.div import require_no_zero, sign, truncated_dim
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.symbolic import arithmetic
from sardonyx._src.ops.support.promotion import SMALL_INTEGERS, cast
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Mod", tolerance="rounding", fixed_rounding=True, elementwise=True)
op.infer(10, 13, 28)(infer_broadcast())


@op.convert((28, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Floats with `fmod=0`, which 13 does not allow: the remainder with `fmod=1`, then adjusted to the sign of B."""
    if adapter.dtype(0).is_integer or adapter.inference.integer("fmod"):
        return adapter.same()
    B, remainder = adapter.input(1), adapter.Mod(adapter.input(0), adapter.input(1), fmod=1)
    zero = adapter.constant(0, adapter.dtype(0))
    is_below = adapter.Less(B, zero)
    signed_zero = adapter.Where(is_below, adapter.constant(-0.0, adapter.dtype(0)), zero)
    return adapter.Where(
        adapter.Equal(remainder, zero), signed_zero, add_divisor_if_signs_differ(adapter, remainder, B, zero)
    )


@op.convert((10, 0))
def to_9(adapter: Adapter) -> AdaptedNode:
    """A - A / B * B for integers; refused for floats, whose quotients need not be exact."""
    own = adapter.dtype(0)
    if not own.is_integer:
        adapter.refuse(f"the remainder of {own.text} cannot be computed exactly in the target version")
    wide = SMALL_INTEGERS.get(own, own)
    A, B = (adapter.input(i) if wide is own else cast(adapter, adapter.input(i), wide) for i in (0, 1))
    remainder, zero = adapter.Sub(A, adapter.Mul(adapter.Div(A, B), B)), adapter.constant(0, wide)
    if not adapter.inference.integer("fmod") and wide in (DataType.INT32, DataType.INT64):
        remainder = adapter.Where(
            adapter.Equal(remainder, zero),
            remainder,
            add_divisor_if_signs_differ(adapter, remainder, B, zero),
        )
    return remainder if wide is own else cast(adapter, remainder, own)


def add_divisor_if_signs_differ(adapter: Adapter, remainder: Value, B: Value, zero: Value) -> Value:
    """The remainder, plus B where their signs differ."""
    signs_differ = adapter.Xor(adapter.Less(remainder, zero), adapter.Less(B, zero))
    return adapter.Where(signs_differ, adapter.Add(remainder, B), remainder)


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
    """The remainder of a / b rounded toward zero; None unless the sign of b is known or b is known to divide a."""
    if b != 0 and (sign_a := sign(a)) is not None and (sign_b := sign(b)) is not None:
        return sign_a * (sign_a * a % (sign_b * b))
    quotient = truncated_dim(a, b)
    return None if quotient is None else a - b * quotient
