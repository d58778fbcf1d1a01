"""BitShift: the bits of X moved Y places to the left or to the right.

Spec: ai.onnx BitShift-11, -28.  11 shifts unsigned integers.  28 adds signed ones, whose sign fills the places that a
shift to the right leaves, and says that a Y below zero or not below the number of bits moves every bit out; 11 does
not speak of such Y and is read alike.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.math.bit_steps import adapt_signed_shift, decompose_shift
from sardonyx._src.ops.support.shapes import infer_broadcast
from sardonyx._src.ops.traits import enum_values

op = Operator("BitShift", elementwise=True, enum_attributes={"direction": enum_values("LEFT", "RIGHT")})
op.convert((28, 11))(adapt_signed_shift)
op.convert((11, 0))(decompose_shift)
op.infer(11, 28)(infer_broadcast())


@op.eval(11, 28)
def evaluate(X: Array, Y: Array, *, direction: str) -> Array:
    """X, Y, result: integers of one type; Y counts bits."""
    bits = X.dtype.itemsize * 8
    out = (Y < 0) | (bits <= Y)
    if direction == "LEFT":
        return np.where(out, X.dtype.type(0), np.left_shift(X, np.where(out, X.dtype.type(0), Y)))
    if direction == "RIGHT":
        # the last bit that is not moved out is the sign of a signed X, and has to go when X is unsigned
        shifted = np.right_shift(X, np.where(out, X.dtype.type(bits - 1), Y))
        return np.where(out, X.dtype.type(0), shifted) if X.dtype.kind == "u" else shifted
    raise EvaluationError(f"direction must be 'LEFT' or 'RIGHT'; got {direction!r}")
