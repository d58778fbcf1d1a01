"""Add, Sub, Mul: sums, differences and products; integers wrap around.

Spec: ai.onnx Add-1, -6, -7, -13, -14, and Sub and Mul of the same versions.  1 and 6 stretch B alone, as `broadcast`
and `axis` say; 7 broadcasts both.  6 adds integers of 32 and 64 bits, 13 bfloat16, 14 the smaller integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import in_own_type
from sardonyx._src.ops.math.limited_broadcast import limited, limited_broadcasting
from sardonyx._src.ops.math.limited_broadcast_steps import limiting, unlimited
from sardonyx._src.ops.math.symbolic import Rule, arithmetic
from sardonyx._src.ops.shapes import broadcasting
from sardonyx._src.ops.widening import SMALL_INTEGERS, widening


def define(op: Operator, ufunc: Callable[[Array, Array], Array], rule: Rule) -> None:
    """Gives `op` the facets of all versions; `ufunc` is for arrays, `rule` for known dims."""

    @in_own_type
    def evaluate(A: Array, B: Array) -> Array:
        return ufunc(A, B)

    op.infer(1, 6)(limited_broadcasting())
    op.infer(7, 13, 14)(broadcasting())
    op.value(1, 6, 7, 13, 14)(arithmetic(rule))
    op.convert((6, 7))(unlimited)
    op.convert((7, 6))(limiting(op.name if op.commutative else ""))
    op.convert((14, 13))(widening(SMALL_INTEGERS))
    early = limited(evaluate)
    op.eval(1, ignores=("consumed_inputs",))(early)
    op.eval(6)(early)
    op.eval(7, 13, 14)(evaluate)


define(
    Operator("Add", elementwise=True, commutative=True, about="A + B; integers wrap around."),
    np.add,
    operator.add,
)
define(Operator("Sub", elementwise=True, about="A - B; integers wrap around."), np.subtract, operator.sub)
define(
    Operator("Mul", elementwise=True, commutative=True, about="A * B; integers wrap around."),
    np.multiply,
    operator.mul,
)
