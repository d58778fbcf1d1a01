"""Div: quotients; those of integers are rounded toward zero.

Spec: ai.onnx Div-1, -6, -7, -13, -14.  1 and 6 broadcast only B, as `broadcast` and `axis` say; 7 broadcasts both.
6 adds integers of 32 and 64 bits, 13 bfloat16, 14 the smaller integers.  No version says what an integer divided by
zero is; here it is an error.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim, bounds, dim_max
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.legacy_broadcast import infer_legacy_broadcast, wrap_legacy_broadcast
from sardonyx._src.ops.math.legacy_broadcast_steps import adapt_to_broadcast, make_legacy_adapter
from sardonyx._src.ops.math.ratios import Element, Ratio, quotient
from sardonyx._src.ops.math.symbolic import SYMBOLIC_INTEGERS, arithmetic
from sardonyx._src.ops.support.promotion import SMALL_INTEGERS, promote_input
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import LegacyBroadcast

op = Operator("Div", elementwise=True, legacy_broadcast=LegacyBroadcast("one_way", last_opset=6))
op.infer(1, 6)(infer_legacy_broadcast())
op.infer(7, 13, 14)(infer_broadcast())
op.convert((6, 7))(adapt_to_broadcast)
op.convert((7, 6))(make_legacy_adapter())
op.convert((14, 13))(promote_input(SMALL_INTEGERS))


@op.eval(7, 13, 14)
@round_to_input_type
def eval_7(A: Array, B: Array) -> Array:
    return divide_truncating(A, B) if A.dtype.kind in "iu" else np.divide(A, B)


eval_1 = wrap_legacy_broadcast(eval_7)
op.eval(1, ignores=("consumed_inputs",))(eval_1)
op.eval(6)(eval_1)


def divide_truncating(A: Array, B: Array) -> Array:
    """A / B for integers; the least integer of the type divided by -1 wraps around to itself."""
    require_no_zero(B)
    floor = np.floor_divide(A, B)
    if A.dtype.kind == "u":
        return floor
    return floor + ((A < 0) != (B < 0)) * (floor * B != A)


def require_no_zero(B: Array) -> None:
    """Raises EvaluationError if B, an integer divisor, contains a zero."""
    if not B.all():
        where = [int(i) for i in np.argwhere(B == 0)[0]]
        raise EvaluationError(f"an integer divisor must not be 0; got B = 0 at {where}")


@op.value(1, 6, 7, 13, 14)
def value(inference: Inference) -> Known | None:
    if inference.dtype(0) in SYMBOLIC_INTEGERS:
        return arithmetic(truncated_dim)(inference)
    return arithmetic(float_quotient, takes_ratios=True)(inference)


def float_quotient(a: Element, b: Element) -> Element | None:
    """a / b if b is a number or is known to divide a; else None, that is unknown."""
    if isinstance(a, Ratio) or isinstance(b, Ratio | int):
        return quotient(a, b)
    return exact_dim(a, b)


def truncated_dim(a: KnownDim, b: KnownDim) -> Dim:
    """a / b rounded toward zero; None if b may be zero or the sign of b is not known."""
    if b == 0:
        return None
    if (exact := exact_dim(a, b)) is not None:
        return exact
    side = sign(b)
    if side is None:
        return None
    a, b = side * a, side * b
    # Dims are divided with rounding down, which is rounding toward zero for each of the two parts.
    parts = [(part // b if part != 0 else 0) for part in (positive_part(a), positive_part(-a))]
    return parts[0] - parts[1]


def positive_part(dim: KnownDim) -> KnownDim:
    """max(dim, 0)."""
    side = sign(dim)
    if side is None:
        return dim_max(dim, 0)
    return dim if side > 0 else 0


def exact_dim(a: KnownDim, b: KnownDim) -> Dim:
    """a / b if b is known to divide a, else None."""
    return a // b if b != 0 and a % b == 0 else None


def sign(dim: KnownDim) -> int | None:
    """1 if the dim is never negative, -1 if it is never positive, None if it may be either."""
    low, high = bounds(dim)
    if low is not None and low >= 0:
        return 1
    return -1 if high is not None and high <= 0 else None
