"""Equal, Greater, Less, GreaterOrEqual, LessOrEqual: elementwise comparison; false for NaN.

Spec: ai.onnx Equal-1, -7, -11, -13, -19; Greater and Less -1, -7, -9, -13; GreaterOrEqual and LessOrEqual -12, -16.
Version 1 broadcasts only B, as `broadcast` and `axis` say; 7 broadcasts both.  The others add element types: 9 and 11
all integers and floats, 13 and 16 bfloat16, 19 strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim, dim_max, dim_min, known_equal, known_ge
from sardonyx._src.ir.dims import Known as KnownDim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.comparison_steps import compare_integers, decompose_equal
from sardonyx._src.ops.math.legacy_broadcast import infer_legacy_broadcast, wrap_legacy_broadcast
from sardonyx._src.ops.math.legacy_broadcast_steps import adapt_to_broadcast, make_legacy_adapter
from sardonyx._src.ops.math.symbolic import relation
from sardonyx._src.ops.support.arithmetic import promote_to_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import LegacyBroadcast

MIRROR = {
    "Equal": "Equal",
    "Greater": "Less",
    "Less": "Greater",
}  # the operator with the same result for (B, A)


def define(
    op: Operator,
    versions: Sequence[int],
    ufunc: Callable[[Array, Array], Array],
    rule: Callable[[KnownDim, KnownDim], Dim],
) -> None:
    """Gives `op` the facets of all versions; `ufunc` compares arrays, `rule` two dims that inference knows."""

    def evaluate(A: Array, B: Array) -> Array:
        return np.asarray(ufunc(promote_to_float32(A), promote_to_float32(B)), np.bool_)

    later = [v for v in versions if v > 1]
    op.infer(*later)(infer_broadcast(DataType.BOOL))
    op.eval(*later)(evaluate)
    if 1 in versions:
        op.infer(1)(infer_legacy_broadcast(DataType.BOOL))
        op.eval(1)(wrap_legacy_broadcast(evaluate))
        op.convert((1, 7))(adapt_to_broadcast)
        op.convert((7, 1))(make_legacy_adapter(MIRROR[op.name]))
    if 9 in versions:
        op.convert((9, 7))(compare_integers)
    op.value(*versions)(relation(rule))


def at_least(a: KnownDim, b: KnownDim) -> Dim:
    """Whether a >= b: a bool, or an expression that is 1 or 0."""
    is_ge = known_ge(a, b)
    return is_ge if is_ge is not None else 1 - dim_min(dim_max(b - a, 0), 1)


def less(a: KnownDim, b: KnownDim) -> Dim:
    """Whether a < b: a bool, or an expression that is 1 or 0."""
    is_ge = known_ge(a, b)
    return not is_ge if is_ge is not None else dim_min(dim_max(b - a, 0), 1)


equal = Operator(
    "Equal",
    elementwise=True,
    commutative=True,
    about="where A and B are the same; NaN is equal to nothing.",
    legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
)
define(equal, (1, 7, 11, 13, 19), np.equal, known_equal)
define(
    Operator(
        "Greater",
        elementwise=True,
        about="where A is above B.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    (1, 7, 9, 13),
    np.greater,
    lambda a, b: less(b, a),
)
define(
    Operator(
        "Less",
        elementwise=True,
        about="where A is below B.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    (1, 7, 9, 13),
    np.less,
    less,
)
equal.convert((11, 7))(decompose_equal)
greater_or_equal = Operator("GreaterOrEqual", elementwise=True, about="where A is B or above it.")
less_or_equal = Operator("LessOrEqual", elementwise=True, about="where A is B or below it.")
define(greater_or_equal, (12, 16), np.greater_equal, at_least)
define(less_or_equal, (12, 16), np.less_equal, lambda a, b: at_least(b, a))


def define_or_equal(op: Operator, strict: str) -> None:
    """Gives `op` its body, the operator `strict` or Equal.

    It is not the negation of the opposite operator, which would be true for NaN.
    """

    def body(inference: Inference) -> str:
        return f"(a, b) => (c) {{ differs = {strict}(a, b)  same = Equal(a, b)  c = Or(differs, same) }}"

    op.body(12, opset=11)(body)
    op.body(16, opset=13)(body)
    op.convert((16, 12))(promote_input(NARROW_FLOATS))


define_or_equal(greater_or_equal, "Greater")
define_or_equal(less_or_equal, "Less")
