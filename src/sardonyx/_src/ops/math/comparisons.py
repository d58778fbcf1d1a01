"""Equal, Greater, Less, GreaterOrEqual, LessOrEqual: which elements compare so; NaN compares as nothing.

Spec: ai.onnx Equal-1, -7, -11, -13, -19; Greater and Less -1, -7, -9, -13; GreaterOrEqual and LessOrEqual -12, -16.
Version 1 stretches B alone, as `broadcast` and `axis` say; 7 broadcasts both.  The others add element types: 9 and 11
all integers and floats, 13 and 16 bfloat16, 19 strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, known_equal, known_ge
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import widen
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.comparison_steps import integers_by_halves, neither_less_nor_greater
from sardonyx._src.ops.math.limited_broadcast import limited, limited_broadcasting
from sardonyx._src.ops.math.limited_broadcast_steps import limiting, unlimited
from sardonyx._src.ops.math.symbolic import relation
from sardonyx._src.ops.shapes import broadcasting
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

MIRROR = {"Equal": "Equal", "Greater": "Less", "Less": "Greater"}  # the same of (B, A)


def define(
    op: Operator,
    versions: Sequence[int],
    ufunc: Callable[[Array, Array], Array],
    rule: Callable[[Dim, Dim], bool | None],
) -> None:
    """Gives `op` the facets of all versions; `ufunc` is for arrays, `rule` for dims."""

    def evaluate(A: Array, B: Array) -> Array:
        return np.asarray(ufunc(widen(A), widen(B)), np.bool_)

    later = [v for v in versions if v > 1]
    op.infer(*later)(broadcasting(DataType.BOOL))
    op.eval(*later)(evaluate)
    if 1 in versions:
        op.infer(1)(limited_broadcasting(DataType.BOOL))
        op.eval(1)(limited(evaluate))
        op.convert((1, 7))(unlimited)
        op.convert((7, 1))(limiting(MIRROR[op.name]))
    if 9 in versions:
        op.convert((9, 7))(integers_by_halves)
    op.value(*versions)(relation(rule))


def less(a: Dim, b: Dim) -> bool | None:
    no = known_ge(a, b)
    return None if no is None else not no


equal = Operator(
    "Equal", elementwise=True, commutative=True, about="where A and B are the same; NaN is equal to nothing."
)
define(equal, (1, 7, 11, 13, 19), np.equal, known_equal)
define(
    Operator("Greater", elementwise=True, about="where A is above B."),
    (1, 7, 9, 13),
    np.greater,
    lambda a, b: less(b, a),
)
define(Operator("Less", elementwise=True, about="where A is below B."), (1, 7, 9, 13), np.less, less)
equal.convert((11, 7))(neither_less_nor_greater)
greater_or_equal = Operator("GreaterOrEqual", elementwise=True, about="where A is B or above it.")
less_or_equal = Operator("LessOrEqual", elementwise=True, about="where A is B or below it.")
define(greater_or_equal, (12, 16), np.greater_equal, known_ge)
define(less_or_equal, (12, 16), np.less_equal, lambda a, b: known_ge(b, a))


def or_equal(op: Operator, strict: str) -> None:
    """Gives `op` its body: NaN, which is neither less nor greater, is not equal, either."""

    def body(t: Inference) -> str:
        return f"(a, b) => (c) {{ differs = {strict}(a, b)  same = Equal(a, b)  c = Or(differs, same) }}"

    op.body(12, opset=11)(body)
    op.body(16, opset=13)(body)
    op.convert((16, 12))(widening(NARROW_FLOATS))


or_equal(greater_or_equal, "Greater")
or_equal(less_or_equal, "Less")
