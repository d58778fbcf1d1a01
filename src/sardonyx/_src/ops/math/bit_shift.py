"""BitShift: the bits of X shifted to the left or to the right by Y bits.

Spec: ai.onnx BitShift-11, -28.  11 shifts unsigned integers.  28 adds signed ones; a shift to the right fills their upper
bits with the sign.  28 also says that every bit is shifted out if Y is negative or at least the number of bits; 11
does not mention such a Y, and the same is done there.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
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
        # A shift by bits - 1 leaves only the highest bit: a signed X then is its sign, as it must be, but an unsigned X
        # must become 0.
        shifted = np.right_shift(X, np.where(out, X.dtype.type(bits - 1), Y))
        return np.where(out, X.dtype.type(0), shifted) if X.dtype.kind == "u" else shifted
    raise EvaluationError(f"direction must be 'LEFT' or 'RIGHT'; got {direction!r}")
