"""Add, Sub, Mul: sums, differences and products; integers wrap around.

Spec: ai.onnx Add-1, -6, -7, -13, -14, and Sub and Mul of the same versions.  1 and 6 broadcast only B, as `broadcast`
and `axis` say; 7 broadcasts both.  6 adds integers of 32 and 64 bits, 13 bfloat16, 14 the smaller integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.math.legacy_broadcast import infer_legacy_broadcast, wrap_legacy_broadcast
from sardonyx._src.ops.math.legacy_broadcast_steps import adapt_to_broadcast, make_legacy_adapter
from sardonyx._src.ops.math.symbolic import Rule, arithmetic
from sardonyx._src.ops.support.promotion import SMALL_INTEGERS, promote_input
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import LegacyBroadcast


def define(op: Operator, ufunc: Callable[[Array, Array], Array], rule: Rule) -> None:
    """Gives `op` the facets of all versions.

    ufunc: the operation on arrays.
    rule: the operation on two elements that inference knows, numbers or expressions of dims.
    """

    @round_to_input_type
    def evaluate(A: Array, B: Array) -> Array:
        return ufunc(A, B)

    op.infer(1, 6)(infer_legacy_broadcast())
    op.infer(7, 13, 14)(infer_broadcast())
    op.value(1, 6, 7, 13, 14)(arithmetic(rule, takes_ratios=True))
    op.convert((6, 7))(adapt_to_broadcast)
    op.convert((7, 6))(make_legacy_adapter(op.name if op.commutative else ""))
    op.convert((14, 13))(promote_input(SMALL_INTEGERS))
    early = wrap_legacy_broadcast(evaluate)
    op.eval(1, ignores=("consumed_inputs",))(early)
    op.eval(6)(early)
    op.eval(7, 13, 14)(evaluate)


define(
    Operator(
        "Add",
        elementwise=True,
        commutative=True,
        about="A + B; integers wrap around.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    np.add,
    operator.add,
)
define(
    Operator(
        "Sub",
        elementwise=True,
        about="A - B; integers wrap around.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    np.subtract,
    operator.sub,
)
define(
    Operator(
        "Mul",
        elementwise=True,
        commutative=True,
        about="A * B; integers wrap around.",
        legacy_broadcast=LegacyBroadcast("one_way", last_opset=6),
    ),
    np.multiply,
    operator.mul,
)
