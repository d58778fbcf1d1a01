"""Mod: what a division leaves over.

Spec: ai.onnx Mod-10, -13, -28.  With `fmod=0` the quotient is rounded down and the result has the sign of B; with
`fmod=1` it is rounded toward zero and the result has the sign of A.  10 and 13 allow floats with `fmod=1` alone;
28 allows them with both, and so are they read in
10 and 13, as the suite of opset 10 does.  13 adds bfloat16.  What an integer leaves over when it is divided by zero depends on the
platform (10) or is not said; it is refused.
"""

from __future__ import annotations

import numpy as np

from sardonyx.errors import EvaluationError
from sardonyx.ir.dims import Dim
from sardonyx.ir.dims import Known as KnownDim
from sardonyx.ir.tensors import Array
from sardonyx.ops.api import Operator
from sardonyx.ops.inference import Inference, Known
from sardonyx.ops.math.div import require_no_zero, sign
from sardonyx.ops.math.elementwise import in_own_type
from sardonyx.ops.math.symbolic import arithmetic
from sardonyx.ops.shapes import broadcasting

op = Operator("Mod", tolerance="rounding", elementwise=True)
op.infer(10, 13, 28)(broadcasting())


@op.eval(10, 13, 28)
@in_own_type
def evaluate(A: Array, B: Array, *, fmod: int) -> Array:
    if fmod not in (0, 1):
        raise EvaluationError(f"fmod is {fmod}; 0 and 1 are allowed")
    if A.dtype.kind in "iu":
        require_no_zero(B)
    return np.fmod(A, B) if fmod else np.mod(A, B)


@op.value(10, 13, 28)
def value(t: Inference) -> Known | None:
    return arithmetic(truncated_mod if t.integer("fmod") else floored_mod)(t)


def floored_mod(a: KnownDim, b: KnownDim) -> Dim:
    return a % b if b != 0 else None


def truncated_mod(a: KnownDim, b: KnownDim) -> Dim:
    """What is left over when a / b is rounded toward zero, where the sign of a is known."""
    if b == 0:
        return None
    if (side := sign(a)) is None or (size := sign(b)) is None:
        return 0 if a % b == 0 else None
    return side * (side * a % (size * b))
