"""BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot: logic on the bits of integers.

Spec: ai.onnx BitwiseAnd-18, BitwiseOr-18, BitwiseXor-18, BitwiseNot-18.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.bit_steps import bit_by_bit, turned_over
from sardonyx._src.ops.math.elementwise import function_of_one
from sardonyx._src.ops.shapes import broadcasting


def define(op: Operator, ufunc: Callable[[Array, Array], Array]) -> None:
    """Gives `op` the facets of version 18."""

    def evaluate(A: Array, B: Array) -> Array:
        return ufunc(A, B)

    op.convert((18, 0))(bit_by_bit)
    op.infer(18)(broadcasting())
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
not_ = Operator("BitwiseNot", elementwise=True, about="every bit of an integer turned over.")
not_.convert((18, 0))(turned_over)
function_of_one(not_, (18,), np.invert)
