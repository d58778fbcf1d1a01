"""BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot: logic on the bits of integers.

Spec: ai.onnx BitwiseAnd-18, BitwiseOr-18, BitwiseXor-18, BitwiseNot-18.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.bit_steps import decompose_logic, decompose_not
from sardonyx._src.ops.math.elementwise import define_unary
from sardonyx._src.ops.support.shapes import infer_broadcast


def define(op: Operator, ufunc: Callable[[Array, Array], Array]) -> None:
    """Gives `op` the facets of version 18."""

    def evaluate(A: Array, B: Array) -> Array:
        return ufunc(A, B)

    op.convert((18, 0))(decompose_logic)
    op.infer(18)(infer_broadcast())
    op.eval(18)(evaluate)


define(
    Operator(
        "BitwiseAnd", elementwise=True, commutative=True, about="the bits that are set in both integers."
    ),
    np.bitwise_and,
)
define(
    Operator(
        "BitwiseOr",
        elementwise=True,
        commutative=True,
        about="the bits that are set in at least one of two integers.",
    ),
    np.bitwise_or,
)
define(
    Operator(
        "BitwiseXor", elementwise=True, commutative=True, about="the bits in which two integers differ."
    ),
    np.bitwise_xor,
)
not_ = Operator("BitwiseNot", elementwise=True, about="every bit of an integer inverted.")
not_.convert((18, 0))(decompose_not)
define_unary(not_, (18,), np.invert)
